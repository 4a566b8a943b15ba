// The life of API keys through Resend's client. Prints what it got as one JSON
// object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const domain = ok(await resend.domains.list()).data[0];
const full = ok(await resend.apiKeys.create({ name: 'full' }));
const scoped = ok(await resend.apiKeys.create({ name: 'scoped', permission: 'sending_access', domain_id: domain.id }));
const fullClient = new Resend(full.token);
const scopedClient = new Resend(scoped.token);
const first = ok(await fullClient.apiKeys.list({ limit: 2 }));
const rest = ok(await fullClient.apiKeys.list({ limit: 2, after: first.data[1].id }));
const mail = { from, to: 'ann@example.com', subject: 's', text: 't' };
const sent = ok(await scopedClient.emails.send(mail));
const otherDomain = (await scopedClient.emails.send({ ...mail, from: 'a@other.test' })).error;
const reads = (await scopedClient.emails.get(sent.id)).error;
const lists = (await scopedClient.apiKeys.list()).error;
const renamed = ok(await fullClient.apiKeys.update(scoped.id, { name: 'renamed' }));
const after = ok(await resend.apiKeys.list());
const noName = (await resend.apiKeys.create({ name: '' })).error;
const badDomain = (await resend.apiKeys.create({ name: 'x', permission: 'sending_access', domain_id: full.id })).error;
const needsSending = (await resend.apiKeys.create({ name: 'x', domain_id: domain.id })).error;
const removed = ok(await resend.apiKeys.remove(scoped.id));
const revoked = (await scopedClient.emails.send(mail)).error;
const gone = (await resend.apiKeys.remove(scoped.id)).error;

console.log(JSON.stringify({
  domain, full, scoped, first, rest, sent, renamed, after, removed,
  errors: { otherDomain, reads, lists, noName, badDomain, needsSending, revoked, gone },
}));
