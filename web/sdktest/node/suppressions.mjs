// The life of a suppression list through Resend's client. Prints what it got as
// one JSON object.
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const added = ok(await resend.suppressions.add({ email: ' Gone+1@Example.com ' }));
const again = ok(await resend.suppressions.add({ email: 'gone+1@example.com' }));
const batch = ok(await resend.suppressions.batch.add({ emails: ['b@example.com', 'gone+1@example.com', 'c@example.com', 'B@example.com'] }));
const byEmail = ok(await resend.suppressions.get('gone+1@example.com'));
const byID = ok(await resend.suppressions.get(added.id));
const first = ok(await resend.suppressions.list({ limit: 2 }));
const rest = ok(await resend.suppressions.list({ limit: 2, after: first.data[1].id }));
const manual = ok(await resend.suppressions.list({ origin: 'manual' }));
const bounce = ok(await resend.suppressions.list({ origin: 'bounce' }));

const mail = { from, to: 'gone+1@example.com', cc: 'fine@example.com', subject: 's', text: 't' };
const refused = (await resend.emails.send(mail)).error;
const sent = ok(await resend.emails.send({ ...mail, to: ['fine@example.com'], cc: ['gone+1@example.com'] }));
const both = (await resend.suppressions.batch.remove({ emails: ['a@example.com'], ids: [added.id] })).error;
const badOrigin = (await resend.suppressions.list({ origin: 'spam' })).error;
const badEmail = (await resend.suppressions.batch.add({ emails: ['a@example.com', 'no'] })).error;

const removed = ok(await resend.suppressions.remove('gone+1@example.com'));
const missing = (await resend.suppressions.get(added.id)).error;
const removedByEmail = ok(await resend.suppressions.batch.remove({ emails: ['b@example.com', 'nobody@example.com'] }));
const removedByID = ok(await resend.suppressions.batch.remove({ ids: [batch.data[2].id] }));
const left = ok(await resend.suppressions.list());
const after = ok(await resend.emails.send(mail));

async function untilDone(id) {
  for (let tries = 0; tries < 600; tries++) {
    const events = ok(await resend.get(`/emails/${id}/events`));
    if (events.data.some((e) => e.type === 'sent')) return ok(await resend.emails.get(id));
    await pause(100);
  }
  throw new Error(`${id} stays`);
}

console.log(JSON.stringify({
  added, again, batch, byEmail, byID, first, rest, manual, bounce,
  errors: { refused, both, badOrigin, badEmail, missing },
  removed, removedByEmail, removedByID, left,
  emails: { sent: await untilDone(sent.id), after: await untilDone(after.id) },
}));
