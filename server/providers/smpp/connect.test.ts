import assert from "node:assert/strict";
import { createServer } from "node:net";
import test, { type TestContext } from "node:test";
import { EXPIRED_CERTIFICATE, TLS_CERTIFICATE } from "../../../test/support/certificate.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { listening, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import { settingsFor } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { Session, type SessionSettings } from "./session.ts";

/** The result of a session: bound, or the reason why not. */
async function outcome(t: TestContext, port: number, more: Partial<SessionSettings>): Promise<string> {
  let reason = "";
  const events = { stateChanged() {}, ended: (why: string) => (reason = why), deliver: async () => 0, fault() {} };
  const session = new Session("transceiver", settingsFor(port, { tls: true, ...more }), events, new SimulatedClock());
  t.after(() => session.leave(1_000));
  session.start();
  await until(() => session.isBound || reason !== "");
  return session.isBound ? "bound" : reason;
}

test("over TLS a session binds if the authority is trusted and the name matches, by IP address and by name", async (t) => {
  const smsc = await scriptedSmsc(t, { cert: TLS_CERTIFICATE });
  assert.equal(await outcome(t, smsc.port, { tlsCa: TLS_CERTIFICATE }), "bound");
  assert.equal(await outcome(t, smsc.port, { tlsCa: TLS_CERTIFICATE, tlsServerName: "hooks.test" }), "bound");
  assert.equal(
    await outcome(t, smsc.port, { tlsCa: TLS_CERTIFICATE, host: "localhost", tlsServerName: "127.0.0.1" }),
    "bound",
  );
});

test("a certificate that is self-signed, expired or for another host gets no bind, and the reason says what to do", async (t) => {
  const good = await scriptedSmsc(t, { cert: TLS_CERTIFICATE });
  const expired = await scriptedSmsc(t, { cert: EXPIRED_CERTIFICATE });
  const otherName =
    "the certificate is for another name than the host: set tlsServerName if that name is right (ERR_TLS_CERT_ALTNAME_INVALID)";
  const cases: [number, Partial<SessionSettings>, string][] = [
    [
      good.port,
      {},
      "the certificate is self-signed and not trusted: set tlsCa to its PEM (DEPTH_ZERO_SELF_SIGNED_CERT)",
    ],
    [expired.port, { tlsCa: EXPIRED_CERTIFICATE }, "the certificate has expired (CERT_HAS_EXPIRED)"],
    [good.port, { tlsCa: TLS_CERTIFICATE, tlsServerName: "smsc.example" }, otherName],
    [good.port, { tlsCa: TLS_CERTIFICATE, tlsServerName: "127.0.0.2" }, otherName],
    [good.port, { tlsCa: TLS_CERTIFICATE, host: "localhost" }, otherName],
  ];
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  for (const [port, more, reason] of cases) assert.equal(await outcome(t, port, more), reason);
  assert.deepEqual(
    [...good.callers, ...expired.callers].flatMap(({ received }) => received),
    [],
  );
});

test("a session never falls back to plain text: a peer without TLS gets no octet of a bind", async (t) => {
  const chunks: Buffer[] = [];
  const answers = ["no TLS here", ""];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      socket.end(answers.shift() ?? "");
    });
  });
  const port = await listening(t, server);
  assert.match(await outcome(t, port, {}), /^the TLS handshake failed \(ERR_SSL_/);
  assert.notEqual(await outcome(t, port, {}), "bound");
  assert.equal(chunks.length, 2);
  for (const chunk of chunks) {
    assert.equal(chunk[0], 0x16, "not a TLS handshake");
    assert.ok(!chunk.includes("secret"));
  }
});

test("a tlsCa that is not a certificate is reported, and nothing else is trusted instead", async (t) => {
  const smsc = await scriptedSmsc(t, { cert: TLS_CERTIFICATE });
  for (const tlsCa of [TLS_CERTIFICATE.replace("MII", "mii"), "", "hooks.test"]) {
    assert.equal(await outcome(t, smsc.port, { tlsCa }), "tlsCa is not a certificate in PEM");
  }
  assert.equal(smsc.callers.length, 0);
});
