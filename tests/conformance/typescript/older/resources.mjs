// Resources and templates: lists, contents, errors, completion, and those that ask.

import assert from 'node:assert/strict';

import { accepting, clientWith, declining } from './people.mjs';

async function read(connect, uri, people = {}) {
  const client = await connect(clientWith(people));
  const { contents } = await client.readResource({ uri });
  return { contents, told: contents[0].text, asked: client.asked };
}

export async function resources_and_templates_are_listed(connect) {
  const client = await connect(clientWith());
  const { resources } = await client.listResources();
  const { name, mimeType } = resources.find(({ uri }) => uri === 'test://static-text');
  assert.deepEqual([name, mimeType], ['static_text', 'text/plain']);
  const { resourceTemplates } = await client.listResourceTemplates();
  const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  assert.ok(templates.includes('test://template/{id}/data'));
}

export async function text_is_read(connect) {
  const { contents } = await read(connect, 'test://static-text');
  const text = 'This is the content of the static text resource.';
  assert.deepEqual(contents, [{ uri: 'test://static-text', mimeType: 'text/plain', text }]);
}

export async function bytes_are_read(connect) {
  const { contents } = await read(connect, 'test://static-binary');
  assert.equal(contents[0].mimeType, 'image/png');
  assert.equal(Buffer.from(contents[0].blob, 'base64').toString('latin1', 1, 4), 'PNG');
}

export async function a_template_is_read(connect) {
  const uri = 'test://template/caf%C3%A9%2F1/data';
  const { contents } = await read(connect, uri);
  assert.equal(contents[0].uri, uri);
  assert.equal(JSON.parse(contents[0].text).id, 'café/1');
}

export async function what_is_not_there_has_an_error_of_its_own(connect) {
  const uri = 'test://nowhere';
  await assert.rejects(read(connect, uri), { code: -32002, data: { uri } });
}

export async function a_variable_is_completed_by_what_was_chosen_before(connect) {
  const client = await connect(clientWith());
  const ref = { type: 'ref/resource', uri: 'shelf://{wing}/{shelf}' };
  const argument = { name: 'shelf', value: 'shelf-' };
  const context = { arguments: { wing: 'east' } };
  const { completion } = await client.complete({ ref, argument, context });
  assert.deepEqual(
    [completion.values.length, completion.total, completion.hasMore],
    [100, 150, true],
  );
}

export async function a_template_asks_and_is_answered(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { told, asked } = await read(connect, 'greeting://de', people);
  assert.equal(told, 'Hallo, Ada!');
  assert.deepEqual(asked, ['Hallo, who?']);
}

export async function a_template_asks_by_hand(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { told, asked } = await read(connect, 'vault://side-door', people);
  assert.equal(told, 'Ada is let in by the side-door after 2 knocks.');
  assert.equal(asked.length, 2);
}

export async function a_declined_read_is_an_error(connect) {
  const people = { elicitation: declining };
  await assert.rejects(read(connect, 'greeting://en', people), {
    code: -32603,
    message: /declined/,
  });
}
