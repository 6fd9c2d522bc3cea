// The official TypeScript client against the server of ../server.py.
//
//   node client.mjs stdio COMMAND ARGUMENT...
//   node client.mjs http URL
//
// One line of JSON for each check, {"check", "ok", "told"}, and one at the end, {"checks": N}.
// A check is an exported function of a file below; it throws where something is not as it should
// be. The status is 0 whatever the checks say: runner.py judges them.

import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import * as asks from './asks.mjs';
import * as child from './child.mjs';
import * as links from './links.mjs';
import * as logging from './logging.mjs';
import * as progress from './progress.mjs';
import * as prompts from './prompts.mjs';
import * as resources from './resources.mjs';
import * as rounds from './rounds.mjs';
import * as subscriptions from './subscriptions.mjs';
import * as together from './together.mjs';
import * as tools from './tools.mjs';

const PATIENCE_MS = 30_000;

const [kind, target, ...rest] = process.argv.slice(2);

const SERVED = { tools, prompts, resources, logging, progress, subscriptions };
const ASKING = { rounds, links, asks };
const ROOMS = { ...SERVED, ...ASKING, ...(kind === 'stdio' ? { child } : { together }) };

// What the first connection has discovered, so that the others need not ask: on stdio they would
// start a process for that.
let prior;

function openTransport() {
  return kind === 'stdio'
    ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' })
    : new StreamableHTTPClientTransport(new URL(target));
}

async function outcomeOf(check) {
  const opened = [];
  const connect = async (client, options = { prior }) => {
    opened.push(client);
    await client.connect(openTransport(), options);
    prior ??= { kind: 'modern', discover: client.getDiscoverResult() };
    return client;
  };
  try {
    await Promise.race([check(connect), patience(), nothingLost()]);
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

let count = 0;
for (const [room, checks] of Object.entries(ROOMS)) {
  for (const [name, check] of Object.entries(checks)) {
    const outcome = await outcomeOf(check);
    console.log(JSON.stringify({ check: `${room}/${name}`, ...outcome }));
    count += 1;
  }
}
console.log(JSON.stringify({ checks: count }));
