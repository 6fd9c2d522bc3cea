// The handshake, and tools that answer at once: lists, content, errors.

import assert from 'node:assert/strict';

import { clientWith, REVISION, textOf } from './people.mjs';

export async function the_handshake_tells_who_serves(connect) {
  const client = await connect(clientWith());
  assert.equal(client.getServerVersion().name, 'antiphon-conformance');
  assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), [
    'completions',
    'logging',
    'prompts',
    'resources',
    'tools',
  ]);
  const { protocolVersion = REVISION } = client.transport; // that of stdio does not say
  assert.equal(protocolVersion, REVISION);
}

export async function a_ping_is_answered(connect) {
  const client = await connect(clientWith());
  assert.deepEqual(await client.ping(), {});
}

export async function all_tools_are_listed(connect) {
  const listed = await (await connect(clientWith())).listTools();
  const names = listed.tools.map(({ name }) => name);
  assert.ok(names.includes('test_simple_text'));
  assert.ok(names.includes('test_input_required_result_multi_round'));
  assert.equal(new Set(names).size, names.length);
  const book = listed.tools.find(({ name }) => name === 'book');
  assert.deepEqual(Object.keys(book.inputSchema.properties), ['city']);
}

export async function no_member_of_a_later_revision_is_sent(connect) {
  const client = await connect(clientWith());
  const results = [
    await client.listTools(),
    await client.listResources(),
    await client.callTool({ name: 'test_simple_text' }),
    await client.readResource({ uri: 'test://static-text' }),
    await client.getPrompt({ name: 'test_simple_prompt' }),
  ];
  for (const result of results) {
    for (const member of ['resultType', 'ttlMs', 'cacheScope']) {
      assert.equal(member in result, false, member);
    }
  }
}

export async function blocks_of_several_kinds_are_returned(connect) {
  const client = await connect(clientWith());
  const { content } = await client.callTool({ name: 'test_multiple_content_types' });
  assert.deepEqual(content.map(({ type }) => type), ['text', 'image', 'resource']);
}

export async function a_failed_tool_is_a_result(connect) {
  const client = await connect(clientWith());
  const result = await client.callTool({ name: 'test_error_handling' });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /on purpose/);
}

export async function an_unknown_tool_is_an_error(connect) {
  const client = await connect(clientWith());
  await assert.rejects(client.callTool({ name: 'nobody_knows_it' }), { code: -32602 });
}

export async function a_hundred_calls_at_once_each_have_their_answer(connect) {
  const client = await connect(clientWith());
  const regions = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const told = await Promise.all(
    regions.map(async region =>
      textOf(await client.callTool({ name: 'test_x_mcp_header', arguments: { region } })),
    ),
  );
  assert.deepEqual(told, regions.map(region => `The region is ${region}.`));
}
