// Reads, with Resend's client, what an importer reads of an account. Prints as one JSON
// object what each list had, and what single items are.
import { Resend } from 'resend';

const resend = new Resend(process.env.RESEND_API_KEY);

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

// everything walks a list by its pages.
async function everything(list) {
  const out = [];
  for (let after; ;) {
    const page = ok(await list({ limit: 2, ...(after && { after }) }));
    if (page.object !== 'list') throw new Error(JSON.stringify(page));
    out.push(...page.data);
    if (!page.has_more) return out;
    after = out.at(-1).id;
  }
}

const services = {
  contactProperties: resend.contactProperties, segments: resend.segments, topics: resend.topics, contacts: resend.contacts, templates: resend.templates,
  broadcasts: resend.broadcasts, domains: resend.domains, webhooks: resend.webhooks, suppressions: resend.suppressions,
};
const lists = {}, items = {};
for (const [name, service] of Object.entries(services)) {
  lists[name] = await everything((o) => service.list(o));
  items[name] = [];
  for (const { id } of lists[name]) items[name].push(ok(await service.get(id)));
}
for (const [name, service] of Object.entries({ apiKeys: resend.apiKeys, automations: resend.automations, events: resend.events, emails: resend.emails, receiving: resend.emails.receiving })) {
  lists[name] = await everything((o) => service.list(o));
}
const segmentId = lists.segments[0].id, { id } = lists.contacts[0];
lists.members = await everything((o) => resend.contacts.list({ segmentId, ...o }));
lists.contactSegments = await everything((o) => resend.contacts.segments.list({ contactId: id, ...o }));
lists.contactTopics = await everything((o) => resend.contacts.topics.list({ id, ...o }));

const errors = {
  missing: (await resend.contacts.get('nobody@example.net')).error,
  cursor: (await resend.contacts.list({ limit: 2, after: 'unknown' })).error,
  sending: (await new Resend(process.env.SENDING_KEY).domains.list()).error,
  wrong: (await new Resend('re_wrong').domains.list()).error,
};
const byEmail = ok(await resend.contacts.get({ email: lists.contacts[1].email }));
console.log(JSON.stringify({ lists, items, errors, byEmail }));
