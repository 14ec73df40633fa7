/** What `npm start` tells people once the cluster is ready: where it is, what to show it, and something to try. */

export interface Banner {
  readonly url: string;
  /** Where the console page is. */
  readonly consoleUrl: string;
  readonly token: string;
  readonly adminToken: string;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  readonly home: string;
  /** How many nodes are behind the load balancer; null for a single one. */
  readonly nodes: number | null;
  readonly privateDestinationsAllowed: boolean;
  /** A free port for the receiver of the example. */
  readonly receiverPort: number;
}

/** The lines to print; both commands in them work when pasted into another terminal as they stand. */
export function announce(about: Banner): string {
  const receiver = `http://127.0.0.1:${about.receiverPort}/hello`;
  return `
Carillon is ready.

  API            ${about.url}${about.nodes === null ? '' : `  (${behind(about.nodes)} HAProxy)`}
  Console        ${about.consoleUrl}  (sign in with the admin token)
  Token          ${about.token}
  Admin token    ${about.adminToken}
  Signing keys   current  ${about.currentSigningKey}
                 next     ${about.nextSigningKey}
  Data and logs  ${about.home}
  ${
    about.privateDestinationsAllowed
      ? 'Private and loopback destinations are allowed (CARILLON_ALLOW_PRIVATE_DESTINATIONS=false forbids them).'
      : 'Private and loopback destinations are refused (CARILLON_ALLOW_PRIVATE_DESTINATIONS=true allows them).'
  }

Try it. In a second terminal, a receiver that prints what arrives:

  node -e 'require("http").createServer((q,s)=>{let b="";q.on("data",d=>b+=d).on("end",()=>{console.log(q.method,q.url,q.headers,b);s.end("ok\\n")})}).listen(${about.receiverPort},"127.0.0.1")'

In a third, a message for it:

  curl -sS -X POST '${about.url}/v2/publish/${receiver}' -H 'Authorization: Bearer ${about.token}' -H 'Content-Type: application/json' -d '{"hello":"world"}'

Ctrl-C stops Carillon and the stores it started; the data stays.
`;
}

function behind(nodes: number): string {
  return nodes === 1 ? 'one node behind' : `${nodes} nodes behind`;
}
