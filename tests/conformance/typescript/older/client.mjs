// The official TypeScript client of revision 2025-11-25 against the server of ../../server.py.
//
//   node client.mjs stdio COMMAND ARGUMENT...
//   node client.mjs http URL
//
// The status is 0 whatever the checks say: runner.py judges them.

import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { runChecks } from '../checking.mjs';
import * as asking from './asking.mjs';
import * as changes from './changes.mjs';
import * as notices from './notices.mjs';
import * as prompts from './prompts.mjs';
import * as resources from './resources.mjs';
import * as sessions from './sessions.mjs';
import * as tools from './tools.mjs';

const [kind, target, ...rest] = process.argv.slice(2);

const ROOMS = { tools, asking, prompts, resources, notices, changes };

function openTransport(fetch) {
  return kind === 'stdio'
    ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' })
    : new StreamableHTTPClientTransport(new URL(target), { fetch });
}

await runChecks({ ...ROOMS, ...(kind === 'http' ? { sessions } : {}) }, async client => {
  const hearing = Promise.withResolvers();
  const noting = async (url, init) => {
    const response = await fetch(url, init);
    if (init.method === 'GET') hearing.resolve();
    return response;
  };
  await client.connect(openTransport(noting));
  // The SDK does not wait for the stream on which it is told of changes.
  if (kind === 'http') await hearing.promise;
});
