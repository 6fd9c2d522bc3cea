// Tools that answer at once: discovery, lists, content, errors.

import assert from 'node:assert/strict';

import { clientWith, REVISION, textOf } from './people.mjs';

export async function the_revision_is_negotiated(connect) {
  const client = await connect(clientWith({}, { versionNegotiation: { mode: 'auto' } }), {});
  assert.equal(client.getNegotiatedProtocolVersion(), REVISION);
  assert.equal(client.getServerVersion().name, 'antiphon-conformance');
}

export async function all_tools_are_listed(connect) {
  const { tools } = await (await connect(clientWith())).listTools();
  const names = tools.map(tool => tool.name);
  assert.ok(names.includes('test_simple_text'));
  assert.ok(names.includes('test_input_required_result_multi_round'));
  assert.equal(new Set(names).size, names.length);
}

export async function text_is_returned(connect) {
  const client = await connect(clientWith());
  const result = await client.callTool({ name: 'test_simple_text' });
  assert.match(textOf(result), /simple text response/);
}

export async function blocks_of_several_kinds_are_returned(connect) {
  const client = await connect(clientWith());
  const { content } = await client.callTool({ name: 'test_multiple_content_types' });
  assert.deepEqual(content.map(block => block.type), ['text', 'image', 'resource']);
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

export async function a_header_repeats_an_argument(connect) {
  const client = await connect(clientWith());
  await client.listTools(); // it is the list that says so
  const result = await client.callTool({ name: 'test_x_mcp_header', arguments: { region: 'é 1' } });
  assert.match(textOf(result), /é 1/);
}

export async function a_hundred_calls_at_once_each_have_their_answer(connect) {
  const client = await connect(clientWith());
  await client.listTools();
  const regions = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const told = await Promise.all(
    regions.map(async region =>
      textOf(await client.callTool({ name: 'test_x_mcp_header', arguments: { region } })),
    ),
  );
  assert.deepEqual(told, regions.map(region => `The region is ${region}.`));
}
