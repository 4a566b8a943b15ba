// The life of custom events and of an automation through Resend's client: a
// welcome mail, and a wait for a second event. Prints what it got as one JSON
// object.
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

async function until(what, read) {
  for (let tries = 0; tries < 600; tries++) {
    const value = await read();
    if (value) return value;
    await pause(100);
  }
  throw new Error(`never: ${what}`);
}

const event = ok(await resend.events.create({ name: 'user/created', schema: { plan: 'string' } }));
const byName = ok(await resend.events.get('user/created'));
const changed = ok(await resend.events.update('user/created', { schema: { plan: 'string', seats: 'number' } }));
const byID = ok(await resend.events.get(event.id));
const events = ok(await resend.events.list({ limit: 5 }));

const segment = ok(await resend.segments.create({ name: 'Paying' }));
const template = ok(await resend.templates.create({
  name: 'Welcome', from, subject: 'Hello', html: '<p>Plan {{{PLAN}}}, seats {{{SEATS}}}</p>',
  variables: [{ key: 'PLAN', type: 'string', fallbackValue: 'none' }, { key: 'SEATS', type: 'number', fallbackValue: 0 }],
}).publish());

const steps = [
  { key: 'start', type: 'trigger', config: { eventName: 'user/created' } },
  { key: 'pro', type: 'condition', config: { type: 'and', rules: [{ type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' }, { type: 'rule', field: 'event.seats', operator: 'gte', value: 3 }] } },
  { key: 'mail', type: 'send_email', config: { template: { id: template.id, variables: { PLAN: { var: 'event.plan' }, SEATS: { var: 'event.seats' } } }, subject: 'Welcome', from, replyTo: 'help@example.test' } },
  { key: 'paid', type: 'wait_for_event', config: { eventName: 'order.paid', timeout: '1 hour', filterRule: { type: 'rule', field: 'event.total', operator: 'gt', value: 10 } } },
  { key: 'name', type: 'contact_update', config: { firstName: { var: 'event.plan' }, lastName: 'Example' } },
  { key: 'join', type: 'add_to_segment', config: { segmentId: segment.id } },
  { key: 'later', type: 'delay', config: { duration: '3 days' } },
  { key: 'gone', type: 'contact_delete', config: {} },
];
const connections = [
  { from: 'start', to: 'pro' },
  { from: 'pro', to: 'mail', type: 'condition_met' },
  { from: 'pro', to: 'later', type: 'condition_not_met' },
  { from: 'later', to: 'gone', type: 'default' },
  { from: 'mail', to: 'paid' },
  { from: 'paid', to: 'name', type: 'event_received' },
  { from: 'name', to: 'join' },
];
const created = ok(await resend.automations.create({ name: 'Welcome', steps, connections }));
const got = ok(await resend.automations.get(created.id));
const renamed = ok(await resend.automations.update(created.id, { name: 'Greeting', status: 'enabled', steps, connections }));
const enabled = ok(await resend.automations.list({ status: 'enabled', limit: 5 }));
const disabled = ok(await resend.automations.list({ status: 'disabled' }));

const sent = ok(await resend.events.send({ event: 'user/created', email: 'ann@example.com', payload: { plan: 'pro', seats: '3' } }));
const other = ok(await resend.events.send({ event: 'user/created', email: 'bob@example.com', payload: { plan: 'free' } }));
const contact = ok(await resend.contacts.get({ email: 'ann@example.com' }));
const automationId = created.id;
const running = await until('both runs wait', async () => {
  const page = ok(await resend.automations.runs.list({ automationId, status: ['running', 'failed'], limit: 5 }));
  const whole = await Promise.all(page.data.map(async ({ id }) => ok(await resend.automations.runs.get({ automationId, runId: id }))));
  return whole.length === 2 && whole.every((run) => run.steps.at(-1).status === 'waiting') && whole;
});
ok(await resend.events.send({ event: 'order.paid', contactId: contact.id, payload: { total: 5 } }));
const paid = ok(await resend.events.send({ event: 'order.paid', contactId: contact.id, payload: { total: 20 } }));
const completed = await until('a run is completed', async () => {
  const page = ok(await resend.automations.runs.list({ automationId, status: 'completed' }));
  return page.data.length === 1 && page;
});
const run = ok(await resend.automations.runs.get({ automationId, runId: completed.data[0].id }));
const after = ok(await resend.contacts.get({ email: 'ann@example.com' }));
const segments = ok(await resend.contacts.segments.list({ email: 'ann@example.com' }));

const copy = ok(await resend.automations.duplicate(created.id));
const copied = ok(await resend.automations.get(copy.id));
const stopped = ok(await resend.automations.stop(created.id));
const cancelled = await until('the other run is cancelled', async () => {
  const page = ok(await resend.automations.runs.list({ automationId, status: 'cancelled' }));
  return page.data.length === 1 && page;
});
const errors = {
  reserved: (await resend.events.create({ name: 'resend:user.created' })).error,
  taken: (await resend.events.create({ name: 'user/created' })).error,
  half: (await resend.automations.update(created.id, { steps })).error,
  step: (await resend.automations.create({ name: 'x', steps: [...steps.slice(0, 1), { key: 'wait', type: 'delay', config: { duration: 'soon' } }], connections: [{ from: 'start', to: 'wait' }] })).error,
  payload: (await resend.events.send({ event: 'user/created', email: 'ann@example.com', payload: { seats: 'many' } })).error,
};
const removed = ok(await resend.automations.remove(copy.id));
errors.gone = (await resend.automations.get(copy.id)).error;
const removedEvent = ok(await resend.events.remove('user/created'));
errors.goneEvent = (await resend.events.get(event.id)).error;

console.log(JSON.stringify({
  event, byName, changed, byID, events, created, got, renamed, enabled, disabled, sent, other, contact, running, paid, completed, run, after, segments,
  copy, copied, stopped, cancelled, removed, removedEvent, errors,
}));
