// Prompts and resources, those that ask included, and what completes their arguments.

import {
  completable,
  inputRequired,
  inputResponse,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

import { form } from './server_asks.mjs';

const CITIES = ['Bergen', 'Berlin', 'Bern', 'Bonn'];
const beginningWith = value => CITIES.filter(city => city.startsWith(value));

const said = (role, text) => ({ role, content: { type: 'text', text } });

export function addPrompts(server, states) {
  const city = completable(z.string(), beginningWith);
  const tone = completable(z.string(), (value, context) => [
    `${value} ${context?.arguments?.city}`,
  ]).optional();
  server.registerPrompt(
    'travel',
    { title: 'Travel', description: 'Go away.', argsSchema: z.object({ city, tone }) },
    given => ({
      description: 'Go away.',
      messages: [said('user', `${given.city}, ${given.tone}`), said('assistant', 'Yes.')],
    }),
  );
  server.registerPrompt('plan', { argsSchema: z.object({ city: z.string() }) }, (given, ctx) =>
    plan(given.city, ctx, states),
  );
}

async function plan(city, ctx, states) {
  const { step, month } = ctx.mcpReq.requestState() ?? { step: 'month' };
  const answer = inputResponse(ctx.mcpReq.inputResponses, step);
  if (answer.kind === 'missing') {
    const question = form(`When in ${city}?`, { month: { type: 'integer', maximum: 12 } });
    return ask('month', question, { step: 'month' });
  }
  if (answer.action !== 'accept') {
    return { messages: [said('user', `${answer.action} at ${step}`)] };
  }
  if (step === 'month') {
    const question = form('Sure?', { sure: { type: 'boolean' } });
    return ask('sure', question, { step: 'sure', month: answer.content.month });
  }
  return { messages: [said('user', `${city} in ${month}: ${answer.content.sure}`)] };

  async function ask(key, question, state) {
    return inputRequired({
      inputRequests: { [key]: question },
      requestState: await states.mint(state, ctx),
    });
  }
}

export function addResources(server) {
  const text = { mimeType: 'text/markdown', cacheHint: { ttlMs: 60_000 } };
  server.registerResource('catalogue', 'shelf://catalogue', text, uri => ({
    contents: [{ uri: uri.href, mimeType: 'text/markdown', text: '# Größe 名前' }],
  }));
  server.registerResource('cover', 'shelf://cover', { mimeType: 'image/png' }, uri => {
    const blob = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 256));
    return { contents: [{ uri: uri.href, mimeType: 'image/png', blob: blob.toString('base64') }] };
  });
  const books = new ResourceTemplate('shelf://books/{name}', {
    list: () => ({ resources: [{ uri: 'shelf://books/dune', name: 'Dune' }] }),
    complete: { name: value => [`${value}ne`] },
  });
  server.registerResource('book', books, { description: 'A book.' }, (uri, { name }) => {
    if (name === 'missing') {
      throw new ResourceNotFoundError(uri.href);
    }
    return { contents: [{ uri: uri.href, text: `The text of ${name}` }] };
  });
  const vaults = new ResourceTemplate('vault://{name}', { list: undefined });
  server.registerResource('vault', vaults, {}, readVault);
}

function readVault(uri, { name }, ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'pin');
  if (answer.kind === 'missing') {
    const pin = { type: 'string', minLength: 4 };
    return inputRequired({ inputRequests: { pin: form(`The PIN of ${name}?`, { pin }) } });
  }
  const text = answer.action === 'accept' ? `opened by ${answer.content.pin}` : answer.action;
  return { contents: [{ uri: uri.href, text: `${name}: ${text}` }] };
}
