// Runs checks one after the other, each for as long as patience lasts.
//
// One line of JSON for each check, {"check", "ok", "told"}, and one at the end, {"checks": N}.
// A check is an exported function of a room; it throws where something is not as it should be.
// runner.py judges them.

const PATIENCE_MS = 30_000;

/**
 * @param rooms modules by name.
 * @param connect takes a client that is not connected yet, and options, and connects it; each
 *   client that a check has connected is closed after it.
 */
export async function runChecks(rooms, connect) {
  let count = 0;
  for (const [room, checks] of Object.entries(rooms)) {
    for (const [name, check] of Object.entries(checks)) {
      const outcome = await outcomeOf(check, connect);
      console.log(JSON.stringify({ check: `${room}/${name}`, ...outcome }));
      count += 1;
    }
  }
  console.log(JSON.stringify({ checks: count }));
}

async function outcomeOf(check, connect) {
  const opened = [];
  const connecting = async (client, options) => {
    opened.push(client);
    await connect(client, options);
    return client;
  };
  try {
    await Promise.race([check(connecting), patience(), nothingLost()]);
    return { ok: true, told: '' };
  } catch (error) {
    return { ok: false, told: String(error?.stack ?? error) };
  } finally {
    await Promise.allSettled(opened.map(client => client.close()));
  }
}

function patience() {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no end after ${PATIENCE_MS} ms`)), PATIENCE_MS).unref();
  });
}

// A rejection for which a check that fails elsewhere has not waited must not end the others.
let tellLost;
process.on('unhandledRejection', error => tellLost(error));

function nothingLost() {
  return new Promise((_, reject) => {
    tellLost = reject;
  });
}
