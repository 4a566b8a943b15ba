// The life of broadcasts through Resend's client. Prints what it got as one JSON
// object.
import { setTimeout } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const segment = ok(await resend.segments.create({ name: 'Readers' }));
const segments = [{ id: segment.id }];
ok(await resend.contacts.create({ email: 'ann@example.com', firstName: 'Ann & Bo', segments }));
ok(await resend.contacts.create({ email: 'bob@example.com', segments }));
ok(await resend.contacts.create({ email: 'carl@example.com', unsubscribed: true, segments }));
ok(await resend.contacts.create({ email: 'dora@example.com' }));

const content = { from, subject: 'Hello {{{FIRST_NAME|there}}}', html: '<p>Hi {{{contact.first_name|you}}}</p><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">out</a>' };
const created = ok(await resend.broadcasts.create({ ...content, name: 'June', segmentId: segment.id, replyTo: 'help@example.test', previewText: 'What is new' }));
const draft = ok(await resend.broadcasts.get(created.id));
const updated = ok(await resend.broadcasts.update(created.id, { name: 'July', replyTo: ['a@example.test', 'b@example.test'], text: 'Hi {{{FIRST_NAME|you}}}' }));
const edited = ok(await resend.broadcasts.get(created.id));
const copy = ok(await resend.broadcasts.duplicate(created.id));
const copied = ok(await resend.broadcasts.get(copy.id));
const later = ok(await resend.broadcasts.create({ ...content, name: 'Later', audienceId: segment.id, send: true, scheduledAt: 'in 1 hour' }));
const scheduled = ok(await resend.broadcasts.get(later.id));
const first = ok(await resend.broadcasts.list({ limit: 2 }));
const rest = ok(await resend.broadcasts.list({ limit: 2, after: first.data[1].id }));

const sent = ok(await resend.broadcasts.send(created.id));
let done = ok(await resend.broadcasts.get(created.id));
for (let i = 0; i < 1200 && done.status === 'queued'; i++) {
  await setTimeout(50);
  done = ok(await resend.broadcasts.get(created.id));
}
const canceled = ok(await resend.broadcasts.cancel(later.id));
const afterCancel = ok(await resend.broadcasts.get(later.id));
const errors = {
  noFrom: (await resend.broadcasts.create({ subject: 's', html: 'x' })).error,
  noBody: (await resend.broadcasts.create({ from, subject: 's' })).error,
  unknownSegment: (await resend.broadcasts.create({ ...content, segmentId: copy.id })).error,
  unverified: (await resend.broadcasts.create({ ...content, from: 'a@elsewhere.test', send: true })).error,
  early: (await resend.broadcasts.create({ ...content, scheduledAt: 'in 1 hour' })).error,
  brokenPlaceholder: (await resend.broadcasts.create({ ...content, html: '{{{FIRST NAME}}}' })).error,
  updateSent: (await resend.broadcasts.update(created.id, { name: 'x' })).error,
  sendSent: (await resend.broadcasts.send(created.id, { scheduledAt: 'in 1 hour' })).error,
  removeSent: (await resend.broadcasts.remove(created.id)).error,
  cancelSent: (await resend.broadcasts.cancel(created.id)).error,
  segmentInUse: (await resend.segments.remove(segment.id)).error,
};
const removed = ok(await resend.broadcasts.remove(copy.id));
errors.gone = (await resend.broadcasts.get(copy.id)).error;

console.log(JSON.stringify({ segment, created, draft, updated, edited, copy, copied, later, scheduled, first, rest, sent, done, canceled, afterCancel, removed, errors }));
