// The official TypeScript client against the server of ../server.py.
//
//   node client.mjs stdio COMMAND ARGUMENT...
//   node client.mjs http URL
//
// The status is 0 whatever the checks say: runner.py judges them.

import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import * as asks from './asks.mjs';
import { runChecks } from './checking.mjs';
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

await runChecks(ROOMS, async (client, options = { prior }) => {
  await client.connect(openTransport(), options);
  prior ??= { kind: 'modern', discover: client.getDiscoverResult() };
});
