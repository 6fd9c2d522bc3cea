// Tools that ask: each kind of question, several at once, one after the other, none at all.

import { inputRequired, inputResponse } from '@modelcontextprotocol/server';

import { textResult } from './server_plain.mjs';

const PROFILE = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2, maxLength: 20 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    height: { type: 'number' },
    colour: {
      type: 'string',
      oneOf: [
        { const: 'r', title: 'Red' },
        { const: 'g', title: 'Green' },
      ],
    },
    pets: { type: 'array', items: { type: 'string', enum: ['cat', 'dog'] }, default: ['cat'] },
    news: { type: 'boolean', default: false },
    mail: { type: 'string', format: 'email' },
  },
  required: ['name', 'age'],
};

export const form = (message, properties, required = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });

const QUESTIONS = {
  form: () => inputRequired.elicit({ message: 'Who are you?', requestedSchema: PROFILE }),
  link: () => inputRequired.elicitUrl({ message: 'Sign in', url: 'https://example.org/in?of=1' }),
  model: () =>
    inputRequired.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Is it safe?' } }],
      systemPrompt: 'Be brief.',
      maxTokens: 50,
    }),
  roots: () => inputRequired.listRoots(),
};

export function addAsking(server, states) {
  for (const [kind, question] of Object.entries(QUESTIONS)) {
    addOneRound(server, `ask_${kind}`, { [kind]: question });
  }
  addOneRound(server, 'ask_all', QUESTIONS);
  addSteps(server, states);
  addWaiting(server, states);
  server.registerTool('ask_for_ever', {}, () =>
    inputRequired({ inputRequests: { more: form('More?', { more: { type: 'boolean' } }) } }),
  );
}

// The result tells what came, as it came.
function addOneRound(server, name, questions) {
  server.registerTool(name, {}, ctx => {
    const keys = Object.keys(questions);
    const views = keys.map(key => inputResponse(ctx.mcpReq.inputResponses, key));
    if (views.some(({ kind }) => kind === 'missing')) {
      const asked = keys.map(key => [key, questions[key]()]);
      return inputRequired({ inputRequests: Object.fromEntries(asked) });
    }
    return textResult(JSON.stringify(Object.fromEntries(keys.map((key, at) => [key, views[at]]))));
  });
}

function addSteps(server, states) {
  server.registerTool('steps', {}, async ctx => {
    const at = ctx.mcpReq.requestState() ?? { step: 'name' };
    const answer = inputResponse(ctx.mcpReq.inputResponses, at.step);
    if (answer.kind === 'missing') {
      return asking(states, ctx, { step: 'name' }, 'Name?');
    }
    if (answer.action !== 'accept') {
      return { ...textResult(`${answer.action} at ${at.step}`), isError: true };
    }
    if (at.step === 'name') {
      return asking(states, ctx, { step: 'colour', name: answer.content.name }, 'Colour?');
    }
    return textResult(`${at.name} likes ${answer.content.colour}.`);
  });
}

async function asking(states, ctx, state, message) {
  const question = form(message, { [state.step]: { type: 'string' } });
  const requestState = await states.mint(state, ctx);
  return inputRequired({ inputRequests: { [state.step]: question }, requestState });
}

function addWaiting(server, states) {
  server.registerTool('waiting', {}, async ctx => {
    const { looks } = ctx.mcpReq.requestState() ?? { looks: 0 };
    return looks === 3
      ? textResult('ready')
      : inputRequired({ requestState: await states.mint({ looks: looks + 1 }, ctx) });
  });
}
