// The life of a webhook through Resend's client, with an endpoint of its own that
// gets what really happens. Prints what it got as one JSON object.
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const got = [];
let status = 200;
const server = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  got.push({ headers: req.headers, payload: Buffer.concat(chunks).toString() });
  res.writeHead(status).end('thanks');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const endpoint = `http://127.0.0.1:${server.address().port}/in`;

async function until(what, fn) {
  for (let tries = 0; tries < 600; tries++) {
    const v = await fn();
    if (v) return v;
    await pause(100);
  }
  throw new Error(`${what} does not come`);
}
const told = (type, n = 1) => until(type, () => {
  const all = got.filter((r) => JSON.parse(r.payload).type === type);
  return all.length >= n && all[n - 1];
});

function verify(r, secret, change = {}) {
  const h = r.headers;
  try {
    return resend.webhooks.verify({
      payload: r.payload,
      headers: { id: h['svix-id'], timestamp: h['svix-timestamp'], signature: h['svix-signature'], ...change.headers },
      webhookSecret: secret,
      ...change.rest,
    });
  } catch (e) {
    return { refused: String(e.message) };
  }
}

const created = ok(await resend.webhooks.create({ endpoint, events: ['email.sent', 'contact.created'] }));
const one = ok(await resend.webhooks.get(created.id));
const listed = ok(await resend.webhooks.list({ limit: 10 }));
const unknown = (await resend.webhooks.create({ endpoint, events: ['email.sent', 'email.lost'] })).error;
const refused = (await resend.webhooks.create({ endpoint: 'https://10.0.0.1/in', events: ['email.sent'] })).error;

const sent = ok(await resend.emails.send({ from, to: 'Ann <ann@example.com>', subject: 'Hi', text: 'x', tags: [{ name: 'kind', value: 'test' }] }));
const first = await told('email.sent');
const old = new Date(Date.now() - 10 * 60 * 1000);
const verified = {
  good: verify(first, created.signing_secret),
  changed: verify({ ...first, payload: first.payload.replace('Hi', 'Ho') }, created.signing_secret),
  foreign: verify(first, 'whsec_' + Buffer.alloc(32, 7).toString('base64')),
  otherID: verify(first, created.signing_secret, { headers: { id: 'msg_other' } }),
  old: verify(first, created.signing_secret, { headers: { timestamp: String(Math.floor(old / 1000)) } }),
};

const rotated = ok(await resend.webhooks.rotateSigningSecret(created.id));
ok(await resend.contacts.create({ email: 'bob@example.com' }));
const second = await told('contact.created');
const rotation = { fresh: verify(second, rotated.signing_secret), former: verify(second, created.signing_secret), foreign: verify(second, 'whsec_' + Buffer.alloc(32, 7).toString('base64')) };

const events = await until('success', async () => {
  const list = ok(await resend.webhooks.events.list({ webhookId: created.id }));
  return list.data.every((e) => e.status === 'success') && list;
});
const event = ok(await resend.webhooks.events.get({ webhookId: created.id, eventId: events.data[0].id }));
const attempts = ok(await resend.webhooks.events.attempts.list({ webhookId: created.id, eventId: events.data[0].id }));
const replayed = ok(await resend.webhooks.events.replay({ webhookId: created.id, eventId: events.data[0].id }));
const again = await told('contact.created', 2);

const updated = ok(await resend.webhooks.update(created.id, { status: 'disabled', events: ['topic.created'] }));
const disabled = ok(await resend.webhooks.get(created.id));
const removed = ok(await resend.webhooks.remove(created.id));
const gone = (await resend.webhooks.get(created.id)).error;
server.close();
server.closeAllConnections();

console.log(JSON.stringify({
  created, one, listed, sent, verified, rotated, rotation, events, event, attempts, replayed, updated, disabled, removed,
  errors: { unknown, refused, gone },
  headers: first.headers, same: again.headers['webhook-id'] === second.headers['webhook-id'] && again.payload === second.payload,
}));
