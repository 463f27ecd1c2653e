/** Opens the one socket of a session, with TLS verified or without TLS, and puts into words why there is none. */

import { X509Certificate } from "node:crypto";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { type ConnectionOptions, checkServerIdentity, connect as connectTls } from "node:tls";

/** Where an SMSC is, and how it proves that it is the one. */
export interface SmscEndpoint {
  host: string;
  port: number;
  tls: boolean;
  /** PEM of the only authorities to trust; else those that Node ships. */
  tlsCa?: string;
  /** The name the certificate must be of, where it is not `host`. */
  tlsServerName?: string;
}

const TCP_KEEP_ALIVE_AFTER_MS = 60_000;

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens on this port of the host, or a firewall refuses",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the host's network",
  ENOTFOUND: "the host has no address in the DNS",
  EAI_AGAIN: "the DNS does not answer",
  EPIPE: "the connection was closed",
  ETIMEDOUT: "the host does not answer",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is signed by itself and not trusted: give its PEM as tlsCa",
  SELF_SIGNED_CERT_IN_CHAIN:
    "the certificate is of an authority that is not trusted: give the authority's PEM as tlsCa",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the authority of the certificate is not known: give its PEM as tlsCa",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the authority of the certificate is not known: give its PEM as tlsCa",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not yet valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is of another name than the host: set tlsServerName if that is meant",
};

/**
 * Begins to connect; `ready` is called once octets can be written, after the certificate was found good. There is no way
 * from TLS back to plain text, and no environment variable that turns the check off.
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

/** Why a socket failed, with the code of the error, and nothing of what went over it. */
export function describeSocketError(error: Error & { code?: string }): string {
  const { code } = error;
  if (code === undefined) return error.message;
  const words = WORDS[code];
  if (words !== undefined) return `${words} (${code})`;
  return code.startsWith("ERR_SSL_") ? `the other end does not speak TLS as we do (${code})` : code;
}

function trust({ host, tlsCa, tlsServerName }: SmscEndpoint): ConnectionOptions {
  const name = tlsServerName ?? host;
  // Node itself would leave out what it cannot read, and then say that the peer's certificate is not trusted.
  if (tlsCa !== undefined && !isCertificate(tlsCa)) throw new Error("tlsCa is no certificate in PEM");
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
