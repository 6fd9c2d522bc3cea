// Questions in URL mode: a link that the person is asked to open.

import assert from 'node:assert/strict';

import { clientWith, textOf } from './people.mjs';

const URL_ONLY = { capabilities: { elicitation: { url: {} } } };

async function signIn(connect, answer, options = URL_ONLY) {
  const links = [];
  const elicitation = ({ mode, url }) => {
    links.push([mode, url]);
    return answer;
  };
  const client = await connect(clientWith({ elicitation }, options));
  const result = await client.callTool({ name: 'sign_in' });
  return { told: textOf(result), links, asked: client.asked, isError: result.isError };
}

export async function a_link_is_opened(connect) {
  const { told, links, asked } = await signIn(connect, { action: 'accept' });
  assert.equal(told, 'The link was opened.');
  assert.deepEqual(links, [['url', 'https://example.org/sign-in?of=1']]);
  assert.deepEqual(asked, ['Sign in, please']);
}

export async function a_link_is_left_alone(connect) {
  for (const action of ['decline', 'cancel']) {
    const { told, isError } = await signIn(connect, { action });
    assert.equal(isError, true);
    assert.equal(told, 'The link was not opened.');
  }
}

export async function a_client_with_forms_only_is_not_asked(connect) {
  const forms = { capabilities: { elicitation: { form: {} } } };
  await assert.rejects(signIn(connect, { action: 'accept' }, forms), {
    code: -32021,
    data: { requiredCapabilities: { elicitation: { url: {} } } },
  });
}

export async function a_client_with_links_only_is_not_shown_a_form(connect) {
  const elicitation = () => assert.fail('nobody is asked');
  const client = await connect(clientWith({ elicitation }, URL_ONLY));
  const name = 'test_input_required_result_elicitation';
  await assert.rejects(client.callTool({ name }), {
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } },
  });
}
