/** The scope of opt-outs, the settings of a customer's, and who caused a message if no request did. Older opt-outs hold for one number. */

export const OPT_OUTS_0009 = `
  alter table opt_outs add column scope text collate "C" not null default 'number';

  create index opt_outs_of_customer on opt_outs (customer_id, contact) where scope = 'customer';

  alter table customers add column opt_outs text collate "C";

  alter table messages add column origin text collate "C"`;
