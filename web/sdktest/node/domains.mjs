// A domain through Resend's client, from its addition to its end. DNS is where
// records are published. Prints what it got as one JSON object.
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const out = { errors: {} };
const refused = async (name, call) => { out.errors[name] = (await call).error; };
const publish = (records) => fetch(process.env.DNS, { method: 'POST', body: JSON.stringify(records) });

async function until(read, done) {
  for (let tries = 0; tries < 600; tries++) {
    const got = ok(await read());
    if (done(got)) return got;
    await pause(100);
  }
  throw new Error('it never came to pass');
}

out.domain = ok(await resend.domains.create({
  name: 'Shop.Bücher.test', region: 'us-east-1', customReturnPath: 'bounce',
  openTracking: true, clickTracking: true, trackingSubdomain: 'links', capabilities: { sending: 'enabled', receiving: 'disabled' },
}));
out.plain = ok(await resend.domains.create({ name: 'plain.test' }));
const { id } = out.domain;
await refused('same', resend.domains.create({ name: 'PLAIN.test' }));
await refused('region', resend.domains.create({ name: 'a.test', region: 'sa-east-1' }));
await refused('suffix', resend.domains.create({ name: 'co.uk' }));
await refused('tls', resend.domains.create({ name: 'a.test', tls: 'enforced' }));
await refused('receiving', resend.domains.create({ name: 'a.test', capabilities: { receiving: 'enabled' } }));
await refused('tlsUpdate', resend.domains.update({ id, tls: 'enforced' }));
out.list = ok(await resend.domains.list({ limit: 1 }));
out.rest = ok(await resend.domains.list({ limit: 1, after: out.list.data[0].id }));
out.updated = ok(await resend.domains.update({ id, openTracking: false }));
out.changed = ok(await resend.domains.get(id));

const mail = { from: 'Shop <a@shop.bücher.test>', to: 'ann@example.com', subject: 'from my domain', html: '<p>Hello</p>' };
await refused('unverified', resend.emails.send(mail));
out.verify = ok(await resend.domains.verify(id));
out.pending = await until(() => resend.domains.get(id), (d) => d.records[0].live === 'missing');
await publish(out.pending.records);
ok(await resend.domains.verify(id));
out.verified = await until(() => resend.domains.get(id), (d) => d.status === 'verified');
out.sent = ok(await resend.emails.send(mail));
out.email = await until(() => resend.emails.get(out.sent.id), (e) => e.last_event === 'sent');

out.removed = ok(await resend.domains.remove(id));
await refused('gone', resend.domains.get(id));
await refused('goneAgain', resend.domains.remove(id));
await refused('nobody', resend.emails.send(mail));
console.log(JSON.stringify(out));
