/** Opens the socket of a session, with verified TLS or without TLS, and describes socket errors. */

import { X509Certificate } from "node:crypto";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { type ConnectionOptions, checkServerIdentity, connect as connectTls } from "node:tls";

/** The address of an SMSC, and how its certificate is verified. */
export interface SmscEndpoint {
  host: string;
  port: number;
  tls: boolean;
  /** PEM of the only authorities to trust; by default those of Node. */
  tlsCa?: string;
  /** The name in the certificate, if it is not `host`. */
  tlsServerName?: string;
}

const TCP_KEEP_ALIVE_AFTER_MS = 60_000;

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens on this port of the host, or a firewall refuses",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the host's network",
  ENOTFOUND: "the host name has no address in the DNS",
  EAI_AGAIN: "the DNS server does not answer",
  EPIPE: "the connection was closed",
  ETIMEDOUT: "the host does not answer",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed and not trusted: set tlsCa to its PEM",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's authority is not trusted: set tlsCa to the authority's PEM",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's authority is unknown: set tlsCa to the authority's PEM",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate's authority is unknown: set tlsCa to the authority's PEM",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not yet valid",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the certificate is for another name than the host: set tlsServerName if that name is right",
};

/**
 * Begins to connect. `ready` is called once data can be written; with TLS, after the certificate was verified. Nothing
 * falls back from TLS to plain text, and no environment variable turns the verification off.
 */
export function openSocket(peer: SmscEndpoint, ready: () => void): Socket {
  const { host, port } = peer;
  const socket = peer.tls
    ? connectTls({ host, port, ...trust(peer), rejectUnauthorized: true }, ready)
    : connectTcp({ host, port }, ready);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEP_ALIVE_AFTER_MS);
  return socket;
}

/** Describes a socket error by its code, without any data. */
export function describeSocketError(error: Error & { code?: string }): string {
  const { code } = error;
  if (code === undefined) return error.message;
  const words = WORDS[code];
  if (words !== undefined) return `${words} (${code})`;
  return code.startsWith("ERR_SSL_") ? `the TLS handshake failed (${code})` : code;
}

function trust({ host, tlsCa, tlsServerName }: SmscEndpoint): ConnectionOptions {
  const name = tlsServerName ?? host;
  // Node would ignore an unreadable PEM, and then say that the certificate is not trusted.
  if (tlsCa !== undefined && !isCertificate(tlsCa)) throw new Error("tlsCa is not a certificate in PEM");
  return {
    ...(tlsCa === undefined ? {} : { ca: tlsCa }),
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
  };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
