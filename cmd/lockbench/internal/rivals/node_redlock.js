// node-redlock for node_redlock.go. Each line of standard input and output is a JSON value. The first line opens the
// clients. Each other one acquires names, or releases those that the same id acquires. Whoever asks may be gone at any time.
const net = require("net");
const Redis = require("ioredis");
const { default: Redlock, ResourceLockedError } = require("redlock");

let said = ""; // answers of one turn of the event loop are one write
function say(answer) {
  if (said === "")
    setImmediate(() => {
      process.stdout.write(said);
      said = "";
    });
  said += JSON.stringify(answer) + "\n";
}

const acquires = new Map(); // promises of locks, by id
let redlock;

async function open({ masters, from }) {
  if (from) {
    const connect = net.createConnection; // ioredis has no option for it
    net.createConnection = (to) => connect({ ...to, localAddress: from });
  }
  const clients = masters.map((master, i) => {
    const client = new Redis(master, { lazyConnect: true });
    client.on("error", (e) => (client.cause = e)); // without a listener it would be printed
    return client.connect().then(() => client, (e) => { throw { error: (client.cause ?? e).message, master: i }; });
  });
  redlock = new Redlock(await Promise.all(clients), { retryCount: 0 });
}

// why tells masters that have a lock from those that failed. It does not wait for a master that is late.
async function why(e) {
  if (!e.attempts) return { error: e.message };
  const votes = await Promise.race([e.attempts[0], null]);
  const against = [...(votes?.votesAgainst.values() ?? [])];
  const failed = against.filter((vote) => !(vote instanceof ResourceLockedError));
  return failed.length > 0 && against.length - failed.length < votes.quorumSize ? { error: failed[0].message } : { refused: true };
}

async function answer({ id, names, ttl, ...clients }) {
  if (id === 0) return open(clients);
  if (names) {
    acquires.set(id, redlock.acquire(names, ttl));
    return { until: (await acquires.get(id)).expiration };
  }
  const lock = acquires.get(id);
  acquires.delete(id);
  await (await lock).release();
}

require("readline").createInterface({ input: process.stdin })
  .on("line", (line) => {
    const request = JSON.parse(line);
    answer(request)
      .catch(async (e) => {
        acquires.delete(request.id);
        return "master" in e ? e : why(e);
      })
      .then((answer) => say({ ...answer, id: request.id }));
  })
  .on("close", () => process.exit());
