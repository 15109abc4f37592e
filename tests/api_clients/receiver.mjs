// Receives webhooks on a free port and verifies each with the library of the Standard Webhooks specification. Prints its
// port, then "genuine TYPE" or "forged" for each request.
//   SECRET=… node receiver.mjs
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    try {
      console.log("genuine " + new Webhook(process.env.SECRET ?? "").verify(body, request.headers).type);
      response.writeHead(204).end();
    } catch (error) {
      console.log("forged: " + error.message);
      response.writeHead(400).end();
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
// The secret is known once the webhook has been created for this port.
process.stdin.on("data", (text) => (process.env.SECRET = text.toString().trim()));
process.stdin.on("end", () => process.exit());
