// Tools of one round: values, errors, promised results, mirrored parameters, notices.

import { z } from 'zod';

export function textResult(text) {
  return { content: [{ type: 'text', text }] };
}

export function addPlain(server) {
  addValues(server);
  addMirrored(server);
  addNotices(server);
  addHanging(server);
}

function addValues(server) {
  server.registerTool(
    'echo',
    { description: 'Say it again.', inputSchema: z.object({ text: z.string() }) },
    ({ text }) => textResult(text),
  );
  server.registerTool(
    'weather',
    {
      inputSchema: z.object({ place: z.string() }),
      outputSchema: z.object({ degrees: z.number(), rain: z.boolean().optional() }),
      annotations: { readOnlyHint: true },
    },
    ({ place }) => ({
      ...textResult(`It is cold in ${place}.`),
      structuredContent: { degrees: -0.5 },
    }),
  );
  server.registerTool('fail', {}, () => {
    throw new Error('The tide is out.');
  });
}

function addMirrored(server) {
  const inputSchema = z.object({
    region: z.string().meta({ 'x-mcp-header': 'Region' }),
    level: z.int().optional().meta({ 'x-mcp-header': 'Level' }),
    at: z.object({ loud: z.boolean().meta({ 'x-mcp-header': 'Loud' }) }).optional(),
  });
  server.registerTool('mirrored', { inputSchema }, (given, ctx) => {
    const headers = ['mcp-param-region', 'mcp-param-level', 'mcp-param-loud'];
    const seen = headers.map(name => ctx.http?.req?.headers.get(name) ?? null);
    return textResult(JSON.stringify({ given, seen }));
  });
}

function addNotices(server) {
  server.registerTool('work', {}, async ctx => {
    for (const level of ['debug', 'info', 'error']) {
      await ctx.mcpReq.log(level, { level, größe: [null, 0.5] }, 'works');
    }
    for (const progress of [1, 2.5]) {
      await tellProgress(ctx, progress, 3, `step ${progress}`);
    }
    return textResult('worked');
  });
}

export async function tellProgress(ctx, progress, total, message) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken !== undefined) {
    const params = { progressToken, progress, total, message };
    await ctx.mcpReq.notify({ method: 'notifications/progress', params });
  }
}

let free;
const freed = new Promise(resolve => {
  free = resolve;
});

function addHanging(server) {
  server.registerTool('hang', {}, async ctx => {
    ctx.mcpReq.signal.addEventListener('abort', free);
    await tellProgress(ctx, 1);
    return new Promise(() => {});
  });
  server.registerTool('until_freed', {}, async () => {
    await freed;
    return textResult('freed');
  });
}
