// Log messages, which only a request hears that set a level.

import assert from 'node:assert/strict';

import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';

import { clientWith } from './people.mjs';

async function listening(connect) {
  const client = await connect(clientWith());
  const told = [];
  client.setNotificationHandler('notifications/message', ({ params }) => told.push(params));
  return { client, told };
}

const at = level => ({ [LOG_LEVEL_META_KEY]: level });
const TOOL = { name: 'test_logging_tool' };
const PROMPT = { name: 'logging_prompt' };

export async function a_tool_logs_at_the_level_or_above(connect) {
  const { client, told } = await listening(connect);
  await client.callTool({ ...TOOL, _meta: at('debug') });
  await client.callTool({ ...TOOL, _meta: at('info') });
  const logged = { level: 'info', logger: 'conformance', data: 'The logging tool was called.' };
  assert.deepEqual(told, [logged, logged]);
}

export async function nothing_is_told_below_the_level(connect) {
  const { client, told } = await listening(connect);
  await client.callTool({ ...TOOL, _meta: at('notice') });
  assert.deepEqual(told, []);
}

export async function nothing_is_told_without_a_level(connect) {
  const { client, told } = await listening(connect);
  await client.callTool(TOOL);
  await client.callTool({ ...TOOL, _meta: at('info') });
  await client.callTool(TOOL);
  assert.equal(told.length, 1);
}

export async function an_unknown_level_is_an_error(connect) {
  const { client } = await listening(connect);
  await assert.rejects(client.callTool({ ...TOOL, _meta: at('loud') }), { code: -32602 });
}

export async function a_prompt_logs_too(connect) {
  const { client, told } = await listening(connect);
  await client.getPrompt({ ...PROMPT, _meta: at('info') });
  assert.deepEqual(told, [{ level: 'notice', logger: 'conformance', data: { at: 'prompt' } }]);
}
