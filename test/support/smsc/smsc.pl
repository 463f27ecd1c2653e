#!/usr/bin/perl
# A scripted message centre (SMSC) for tests, on Net::SMPP, whose codec is not ours. Behaves by the last two digits of the
# destination; takes orders as JSON lines on standard input; tells what it sees as JSON lines on standard output.
use strict;
use warnings;
use Getopt::Long;
use IO::Select;
use JSON::PP;
use Net::SMPP;
use Time::HiRes 'time';

my %given = (port => 0, 'system-id' => 'tightbeam', password => 'secret', 'first-id' => 1000, 'again-ms' => 2000, 'receipt-ms' => 30);
GetOptions(\%given, map("$_=s", keys %given)) or die "bad options\n";
$| = 1;
$SIG{PIPE} = 'IGNORE';
$SIG{__WARN__} = sub { print STDERR @_ };

my $json = JSON::PP->new->canonical->latin1;
my $listener = Net::SMPP->new_listen('127.0.0.1', port => $given{port}, listen => 16) or die "cannot listen: $!\n";
my $select = IO::Select->new($listener, \*STDIN);
my %binds;       # by file number: sock, mode, seq, silent
my %throttled;   # by destination and content: how often it was refused so far
my @later;       # [at, action]
my %pending;        # deliver_sm that nobody took yet, by number: args, to (file number), seq, at
my ($next_id, $next_pending, $silent, $refuses) = ($given{'first-id'}, 1, 0, 0);

# Octets that the next PDU has behind its last parameter, as some message centres add them, and how many octets at its end are counted
# and not sent.
our ($rest, $unsent) = ('', 0);

{
    no warnings 'once';
    # In front of IO::Handle's, by which Net::SMPP writes each PDU as a whole.
    *Net::SMPP::syswrite = sub {
        my ($sock, $octets) = @_;
        $octets .= $rest;
        substr($octets, -$unsent) = '' if $unsent;
        substr($octets, 0, 4) = pack 'N', length $octets;
        return $sock->IO::Handle::syswrite($octets);
    };
}

sub report { print $json->encode({@_}), "\n" }
sub later { my ($ms, $action) = @_; push @later, [time + $ms / 1000, $action] }

sub dropped {
    my ($number) = @_;
    my $bind = delete $binds{$number} or return;
    $select->remove($bind->{sock});
    close $bind->{sock};
    $_->{to} = undef for grep { defined $_->{to} && $_->{to} == $number } values %pending;
    report(event => 'dropped', mode => $bind->{mode});
}

# The newest bind that takes messages.
sub receiver {
    my ($best) = sort { $b->{born} <=> $a->{born} } grep { ($_->{mode} // '') =~ /^(receiver|transceiver)$/ } values %binds;
    return $best;
}

sub flush_pending {
    my $bind = receiver() or return;
    for my $number (sort { $a <=> $b } keys %pending) {
        my $pending = $pending{$number};
        next if defined $pending->{to} && time - $pending->{at} < $given{'again-ms'} / 1000;
        next if ($pending->{not_before} // 0) > time;
        my $method = $pending->{method};
        local ($rest, $unsent) = @$pending{'rest', 'unsent'};
        $pending->{seq} = $bind->{sock}->$method(async => 1, @{$pending->{args}});
        @$pending{'to', 'at'} = ($bind->{number}, time);
    }
}

sub enqueue { enqueue_with('', 0, @_) }
sub enqueue_with { my ($rest, $unsent, $method, @args) = @_; $pending{$next_pending++} = { method => $method, args => \@args, rest => $rest, unsent => $unsent }; flush_pending() }

my @STATES = qw(SCHEDULED ENROUTE DELIVRD EXPIRED DELETED UNDELIV ACCEPTD UNKNOWN REJECTD);
my %STATE = map { ($STATES[$_] => $_) } 0 .. $#STATES;

sub receipt {
    my ($pdu, $id, $stat, %how) = @_;
    my $err = $stat eq 'DELIVRD' || $stat eq 'ENROUTE' ? '000' : '0' . (40 + $STATE{$stat});
    my $text = "id:$id sub:001 dlvrd:001 submit date:2601011200 done date:2601011201 stat:$stat err:$err text:Hello";
    $text = "ID:$id Stat:$stat Err:$err" if $how{odd};
    my @args = (esm_class => $how{unflagged} ? 0 : 4, source_addr_ton => 1, source_addr_npi => 1, dest_addr_ton => 1,
        dest_addr_npi => 1, source_addr => $pdu->{destination_addr}, destination_addr => $pdu->{source_addr},
        data_coding => $how{dcs} // 0, short_message => $how{payload} || $how{tlvs_only} ? '' : $text);
    push @args, receipted_message_id => "$id\0", message_state => chr $STATE{$stat} if !$how{no_tlvs};
    push @args, network_error_code => pack('Cn', 3, $err) if !$how{no_tlvs} && $err != 0;
    push @args, user_message_reference => $pdu->{user_message_reference} if $how{umr};
    push @args, message_payload => $text if $how{payload};
    enqueue('deliver_sm', @args);
}

# What the receipts of a message are like, by the last two digits of its recipient.
sub receipts {
    my ($pdu, $id, $part, $kind) = @_;
    my %of = (
        '03' => sub { receipt($pdu, $id, 'EXPIRED') },
        '05' => sub { receipt($pdu, $id, 'UNDELIV') },
        '08' => sub { receipt($pdu, $id, 'REJECTD') },
        '01' => sub { receipt($pdu, $id, 'ENROUTE'); later(50, sub { receipt($pdu, $id, 'DELIVRD') }) },
        '02' => sub { receipt($pdu, $next_pending, 'DELIVRD', umr => 1, no_tlvs => 1, dcs => 2) },
        '06' => sub { },
        '15' => sub { receipt($pdu, hex $id, 'DELIVRD', umr => 1) },
        '16' => sub { receipt($pdu, hex $id, 'DELIVRD') },
        '20' => sub { receipt($pdu, $id, 'DELIVRD') for 1, 2 },
        '21' => sub { later(300 - 50 * $part, sub { receipt($pdu, $id, $part == 2 ? 'UNDELIV' : 'DELIVRD') }) },
        '22' => sub { receipt($pdu, $id, 'DELIVRD'); receipt($pdu, $id, 'ENROUTE'); receipt($pdu, $id, 'DELIVRD') },
        '23' => sub { receipt($pdu, $id, 'DELIVRD', odd => 1, no_tlvs => 1, dcs => 8) },
        '24' => sub { receipt($pdu, $id, 'DELIVRD', payload => 1, no_tlvs => 1) },
        '25' => sub { receipt($pdu, $id, 'DELIVRD', unflagged => 1) },
        '26' => sub { receipt($pdu, $id, 'DELIVRD', tlvs_only => 1) },
        '77' => sub { },
        '78' => sub { receipt($pdu, $id, 'DELIVRD', umr => 1) },
    );
    ($of{$kind} // sub { receipt($pdu, $id, 'DELIVRD') })->();
}

# Which part of how many a submit_sm is, by its header or its sar parameters; and its text.
sub part_of {
    my ($pdu) = @_;
    my $octets = $pdu->{short_message} ne '' ? $pdu->{short_message} : $pdu->{message_payload} // '';
    return (unpack('C', $pdu->{sar_segment_seqnum}), unpack('C', $pdu->{sar_total_segments}), $octets) if defined $pdu->{sar_msg_ref_num};
    return (1, 1, $octets) if !($pdu->{esm_class} & 0x40);
    my @header = unpack 'C C/C', $octets;
    my $header = substr $octets, 1, $header[0] // 0;
    my ($total, $part) = unpack 'CC', substr($header, -2);
    return ($part, $total, substr($octets, 1 + length $header));
}

sub submit {
    my ($bind, $pdu) = @_;
    my ($part, $total, $octets) = part_of($pdu);
    my ($kind) = $pdu->{destination_addr} =~ /(\d\d)$/;
    my $key = "$pdu->{destination_addr} " . unpack('H*', $octets);
    my $status = 0;
    $kind //= '';
    $status = 0x58 if $kind eq '58' && ($throttled{$key} // 0) < 2;
    $status = 0x58 if $kind eq '13' && $part == 2 && ($throttled{$key} // 0) < 1;
    $throttled{$key}++ if $status;
    $status = 0x14 if $kind eq '14';
    $status = 0x0b if $kind eq '11' || ($kind eq '12' && $part == 2);
    $status = 0x45 if $kind eq '17';
    my $id = $kind =~ /^1[56]$/ ? sprintf('%08X', $next_id++) : $next_id++;
    report(event => 'submit', status => $status, id => "$id", part => $part, total => $total, at => time,
        octets => unpack('H*', $octets), map({ $_ => $pdu->{$_} } qw(service_type source_addr_ton source_addr_npi source_addr
            dest_addr_ton dest_addr_npi destination_addr esm_class protocol_id priority_flag validity_period registered_delivery data_coding)),
        short_message => unpack('H*', $pdu->{short_message}),
        map({ defined $pdu->{$_} ? ($_ => unpack('H*', $pdu->{$_})) : () } qw(user_message_reference sar_msg_ref_num sar_total_segments sar_segment_seqnum message_payload)));
    return dropped($bind->{number}) if $kind eq '66';
    my $answer = sub {
        my $known = $kind eq '02' ? 'msg_id_not_implemented' : $kind eq '15' ? '' : $id;
        $bind->{sock}->submit_sm_resp(seq => $pdu->{seq}, status => $status, message_id => $status ? '' : $known) if ($binds{$bind->{number}} // 0) == $bind;
    };
    my $receipt_ms = $given{'receipt-ms'};
    if ($kind =~ /^7[78]$/) { $receipt_ms = 300 }
    elsif ($kind eq '99') { later(150, $answer); $receipt_ms = 0 }
    elsif ($kind eq '04') { later(1500, $answer); $receipt_ms = 1600 }
    else { $answer->() }
    return if $status;
    later($receipt_ms, sub { receipts($pdu, $id, $part, $kind) });
    my $reply = $octets =~ /^MO (.*)/s ? $1 : $kind eq '10' ? 'You said something' : return;
    later($receipt_ms + 60, sub { enqueue('deliver_sm', source_addr_ton => 1, source_addr_npi => 1, dest_addr_ton => 1, dest_addr_npi => 1,
        source_addr => $pdu->{destination_addr}, destination_addr => $pdu->{source_addr}, short_message => $reply) });
}

sub bind_asked {
    my ($bind, $pdu) = @_;
    my ($mode) = $pdu->explain_cmd =~ /^bind_(\w+)$/;
    my $status = $pdu->{system_id} ne $given{'system-id'} ? 0x0f : $pdu->{password} ne $given{password} ? 0x0e : $refuses;
    my $answer = "bind_${mode}_resp";
    report(event => 'bind', mode => $mode, status => $status, system_type => $pdu->{system_type}, version => $pdu->{interface_version});
    $bind->{sock}->$answer(seq => $pdu->{seq}, status => $status, system_id => 'smsc');
    return if $status;
    $bind->{mode} = $mode;
    # What nobody answered on another session comes again on this one.
    if ($mode ne 'transmitter') { $_->{to} = undef for values %pending }
    flush_pending();
}

sub read_pdu {
    my ($bind) = @_;
    my $pdu = $bind->{sock}->read_pdu or return dropped($bind->{number});
    return if $silent;
    my $name = $pdu->explain_cmd;
    return bind_asked($bind, $pdu) if $name =~ /^bind_(receiver|transmitter|transceiver)$/;
    return submit($bind, $pdu) if $name eq 'submit_sm';
    return $bind->{sock}->enquire_link_resp(seq => $pdu->{seq}) if $name eq 'enquire_link';
    if ($name eq 'unbind') {
        report(event => 'unbind', mode => $bind->{mode});
        $bind->{sock}->unbind_resp(seq => $pdu->{seq});
        return dropped($bind->{number});
    }
    return report(event => 'answer', command => $name, status => $pdu->{status}) if $name !~ /^(deliver|data)_sm_resp$/;
    my ($number) = grep { ($pending{$_}{to} // -1) == $bind->{number} && $pending{$_}{seq} == $pdu->{seq} } keys %pending;
    report(event => 'taken', status => $pdu->{status}, number => $number);
    return if !defined $number;
    return delete $pending{$number} if $pdu->{status} == 0;
    @{$pending{$number}}{'to', 'not_before'} = (undef, time + 0.2);
    later(210, \&flush_pending);
}

# Orders: {"do":"deliver", "method"?, "rest"?, "unsent"?, fields of the PDU; rest, short_message and optional parameters in hexadecimal},
# and the switches. `rest` follows the last parameter; `unsent` octets at the end are not sent.
sub ordered {
    my ($order) = @_;
    my $do = delete $order->{do};
    if ($do eq 'deliver') {
        my $method = delete $order->{method} // 'deliver_sm';
        my $rest = pack 'H*', delete $order->{rest} // '';
        for (keys %$order) { $order->{$_} = pack 'H*', $order->{$_} if $_ eq 'short_message' || $Net::SMPP::param_by_name{$_} }
        enqueue_with($rest, delete $order->{unsent} // 0, $method, %$order);
    }
    elsif ($do eq 'unbind') { $_->{sock}->unbind(async => 1) for values %binds }
    elsif ($do eq 'drop') { dropped($_) for keys %binds }
    elsif ($do eq 'silent') { $silent = $order->{on} ? 1 : 0 }
    elsif ($do eq 'refuse') { $refuses = $order->{status} }
    elsif ($do eq 'alert') { $_->{sock}->alert_notification(async => 1, source_addr => '1', esme_addr => '2') for values %binds }
    report(event => 'done', do => $do);
}

report(event => 'listening', port => $listener->sockport);
my $orders = '';
while (1) {
    my ($next) = sort { $a <=> $b } map { $_->[0] } @later;
    my $wait = defined $next ? $next - time : 0.2;
    for my $ready ($select->can_read($wait < 0 ? 0 : $wait > 0.2 ? 0.2 : $wait)) {
        if ($ready == $listener) {
            my $sock = $listener->accept or next;
            $sock->autoflush(1);
            $binds{fileno $sock} = { sock => $sock, number => fileno $sock, born => time };
            $select->add($sock);
        } elsif ($ready == \*STDIN) {
            sysread(STDIN, $orders, 65536, length $orders) or exit 0;
            ordered($json->decode($1)) while $orders =~ s/^(.*)\n//;
        } elsif (my $bind = $binds{fileno $ready // -1}) {
            read_pdu($bind);
        }
    }
    my @due = sort { $a->[0] <=> $b->[0] } grep { $_->[0] <= time } @later;
    my %gone = map { ($_ => 1) } @due;
    @later = grep { !$gone{$_} } @later;
    $_->[1]->() for @due;
    flush_pending();
}
