import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

createServer(async (request, response) => {
  const { "x-signature": signature = "", "x-timestamp": timestamp = "" } = request.headers;
  const body = await buffer(request).catch(() => "");
  const hmac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(`${timestamp}.`).update(body);
  const [given, expected] = [signature, `sha256=${hmac.digest("hex")}`].map((text) => Buffer.from(text));
  const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
  const isGenuine = isSigned && Math.abs(Date.now() / 1000 - timestamp) <= 300;
  response.writeHead(isGenuine ? 200 : 401).end();
  console.log(isGenuine ? String(body) : "refused: not signed with this secret, or not just now");
}).listen(3000, "127.0.0.1");
