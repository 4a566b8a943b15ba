// The life of templates through Resend's client, and sends by them. Prints what
// it got as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const created = ok(await resend.templates.create({
  name: 'Welcome',
  alias: 'welcome',
  from,
  replyTo: ['help@example.test'],
  subject: 'Hello {{{NAME}}}',
  html: '<p>Hi {{{NAME}}}, you have {{{COUNT}}}</p>',
  variables: [
    { key: 'NAME', type: 'string', fallbackValue: 'you' },
    { key: 'COUNT', type: 'number' },
  ],
}));
const draft = ok(await resend.templates.get(created.id));
const unpublished = (await resend.emails.send({ to: 'ann@example.com', template: { id: 'welcome', variables: { COUNT: 1 } } })).error;
const published = ok(await resend.templates.publish('welcome'));
const updated = ok(await resend.templates.update('welcome', { html: '<p>Edited {{{NAME}}} {{{COUNT}}}</p>', text: '' }));
const edited = ok(await resend.templates.get('welcome'));
const copy = ok(await resend.templates.duplicate('welcome'));
const chained = ok(await resend.templates.create({ name: 'Chained', html: '<p>x</p>' }).publish());
const copied = ok(await resend.templates.duplicate(created.id).publish());
const first = ok(await resend.templates.list({ limit: 3 }));
const rest = ok(await resend.templates.list({ limit: 3, after: first.data[2].id }));

const sent = ok(await resend.emails.send({ to: 'ann@example.com', template: { id: 'welcome', variables: { NAME: 'Ann & Bo', COUNT: 2 } } }));
const batch = ok(await resend.batch.send([
  { to: 'bob@example.com', from, subject: 'Own', template: { id: created.id, variables: { COUNT: 3 } } },
  { to: 'carl@example.com', from, subject: 's', html: '<p>plain</p>' },
]));
const errors = {
  unpublished,
  same: (await resend.templates.create({ name: 'x', html: 'x', alias: 'welcome' })).error,
  undeclared: (await resend.templates.create({ name: 'x', html: '{{{NAME}}}' })).error,
  missing: (await resend.emails.send({ to: 'ann@example.com', template: { id: 'welcome' } })).error,
  unknown: (await resend.emails.send({ from, to: 'ann@example.com', subject: 's', template: { id: 'nowhere' } })).error,
  both: (await resend.emails.send({ from, to: 'ann@example.com', subject: 's', html: 'x', template: { id: 'welcome', variables: { COUNT: 1 } } })).error,
};
const removed = ok(await resend.templates.remove('welcome'));
errors.gone = (await resend.templates.get(created.id)).error;
const mail = ok(await resend.emails.get(sent.id));

console.log(JSON.stringify({ created, draft, published, updated, edited, copy, chained, copied, first, rest, sent, batch, mail, removed, errors }));
