// Resources and templates: lists, contents, errors, completion, what may be kept, and rounds.

import assert from 'node:assert/strict';

import { ResourceNotFoundError } from '@modelcontextprotocol/client';

import { accepting, clientWith } from './people.mjs';

async function read(connect, uri, people = {}) {
  const client = await connect(clientWith(people));
  const result = await client.readResource({ uri });
  return { ...result, told: result.contents[0].text, asked: client.asked };
}

async function complete(connect, uri, argument, context) {
  const client = await connect(clientWith());
  const ref = { type: 'ref/resource', uri };
  return (await client.complete({ ref, argument, context })).completion;
}

export async function all_resources_are_listed(connect) {
  const { resources } = await (await connect(clientWith())).listResources();
  const { name, mimeType } = resources.find(({ uri }) => uri === 'test://static-text');
  assert.deepEqual([name, mimeType], ['static_text', 'text/plain']);
}

export async function all_templates_are_listed(connect) {
  const { resourceTemplates } = await (await connect(clientWith())).listResourceTemplates();
  const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  assert.ok(templates.includes('test://template/{id}/data'));
  assert.ok(templates.includes('greeting://{language}'));
}

export async function text_is_read(connect) {
  const { contents } = await read(connect, 'test://static-text');
  assert.deepEqual(contents, [
    {
      uri: 'test://static-text',
      mimeType: 'text/plain',
      text: 'This is the content of the static text resource.',
    },
  ]);
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
  assert.equal(contents[0].mimeType, 'application/json');
  assert.equal(JSON.parse(contents[0].text).id, 'café/1');
}

export async function an_unknown_resource_is_an_error(connect) {
  const uri = 'test://nowhere';
  await assert.rejects(read(connect, uri), error => {
    assert.ok(error instanceof ResourceNotFoundError);
    assert.deepEqual([error.code, error.data], [-32602, { uri }]);
    return true;
  });
}

export async function a_value_that_does_not_fit_is_no_resource(connect) {
  await assert.rejects(read(connect, 'greeting://fr'), ResourceNotFoundError);
}

// -- completion ----------------------------------------------------------------------------------

export async function a_variable_suggests_its_own_options(connect) {
  const completion = await complete(connect, 'greeting://{language}', {
    name: 'language',
    value: 'd',
  });
  assert.deepEqual(completion, { values: ['de'], hasMore: false });
}

export async function a_variable_is_completed_by_what_was_chosen_before(connect) {
  const argument = { name: 'shelf', value: 'shelf-' };
  const template = 'shelf://{wing}/{shelf}';
  const east = await complete(connect, template, argument, { arguments: { wing: 'east' } });
  assert.deepEqual([east.values.length, east.total, east.hasMore], [100, 150, true]);
  const west = await complete(connect, template, argument, { arguments: { wing: 'west' } });
  assert.deepEqual(west, { values: [], hasMore: false });
}

export async function an_unknown_template_has_no_completion(connect) {
  const argument = { name: 'a', value: '' };
  await assert.rejects(complete(connect, 'nobody://{a}', argument), { code: -32602 });
}

// -- what may be kept ----------------------------------------------------------------------------

export async function a_read_says_how_long_it_may_be_kept(connect) {
  const { ttlMs, cacheScope } = await read(connect, 'test://static-text');
  assert.deepEqual([ttlMs, cacheScope], [60_000, 'public']);
  const other = await read(connect, 'test://static-binary');
  assert.deepEqual([other.ttlMs, other.cacheScope], [0, 'private']);
}

export async function lists_and_discovery_say_how_long_they_may_be_kept(connect) {
  const client = await connect(clientWith());
  const given = [
    await client.listTools(),
    await client.listPrompts(),
    await client.listResources(),
    await client.listResourceTemplates(),
    client.getDiscoverResult(),
  ];
  for (const { ttlMs, cacheScope } of given) {
    assert.deepEqual([ttlMs, cacheScope], [0, 'public']);
  }
}

export async function what_may_be_kept_is_not_read_again(connect) {
  const client = await connect(clientWith());
  const uri = 'test://log';
  const first = await client.readResource({ uri });
  assert.deepEqual(await client.readResource({ uri }), first);
  assert.notDeepEqual(await client.readResource({ uri }, { cacheMode: 'refresh' }), first);
}

export async function what_took_answers_is_not_kept(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { ttlMs, cacheScope } = await read(connect, 'greeting://de', people);
  assert.deepEqual([ttlMs, cacheScope], [0, 'private']);
}

// -- templates that ask --------------------------------------------------------------------------

export async function a_template_asks_and_is_answered(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { told, asked } = await read(connect, 'greeting://de', people);
  assert.equal(told, 'Hallo, Ada!');
  assert.deepEqual(asked, ['Hallo, who?']);
}

export async function a_declined_read_is_an_error(connect) {
  const people = { elicitation: () => ({ action: 'decline' }) };
  await assert.rejects(read(connect, 'greeting://en', people), { code: -32603, message: /declined/ });
}

export async function a_read_without_anybody_to_ask_is_an_error(connect) {
  await assert.rejects(read(connect, 'greeting://en'), {
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } },
  });
}

export async function a_template_asks_by_hand(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { told, asked } = await read(connect, 'vault://side-door', people);
  assert.equal(told, 'Ada is let in by the side-door after 2 knocks.');
  assert.equal(asked.length, 2);
}

export async function a_refusal_by_hand_is_what_the_function_makes_of_it(connect) {
  const people = { elicitation: () => ({ action: 'decline' }) };
  await assert.rejects(read(connect, 'vault://side-door', people), ResourceNotFoundError);
}

export async function rounds_are_walked_by_hand(connect) {
  const client = await connect(
    clientWith({ elicitation: () => assert.fail('nobody is asked') }, {
      inputRequired: { autoFulfill: false },
    }),
  );
  const uri = 'greeting://en';
  const interim = await client.readResource({ uri }, { allowInputRequired: true });
  assert.equal(interim.resultType, 'input_required');
  assert.equal(interim.ttlMs, undefined);
  const inputResponses = { whom: { action: 'accept', content: { name: 'Ada' } } };
  const answered = { inputResponses, requestState: interim.requestState };
  const { contents } = await client.readResource({ uri, ...answered });
  assert.equal(contents[0].text, 'Hello, Ada!');
  const elsewhere = client.readResource({ uri: 'greeting://de', ...answered });
  await assert.rejects(elsewhere, { code: -32602 });
}
