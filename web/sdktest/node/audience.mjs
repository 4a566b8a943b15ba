// An audience through Resend's client: properties, topics, segments, contacts,
// and an import. Prints what it got as one JSON object.
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const out = { errors: {} };
const refused = async (name, call) => { out.errors[name] = (await call).error; };

// Properties.
out.plan = ok(await resend.contactProperties.create({ key: 'plan', type: 'string', fallbackValue: 'free' }));
out.age = ok(await resend.contactProperties.create({ key: 'age', type: 'number' }));
await refused('sameProperty', resend.contactProperties.create({ key: 'plan', type: 'string' }));
out.updatedProperty = ok(await resend.contactProperties.update({ id: out.plan.id, fallbackValue: 'none' }));
out.property = ok(await resend.contactProperties.get(out.plan.id));
out.properties = ok(await resend.contactProperties.list());

// Topics.
out.news = ok(await resend.topics.create({ name: 'News', description: 'What is new', defaultSubscription: 'opt_in' }));
out.offers = ok(await resend.topics.create({ name: 'Offers', defaultSubscription: 'opt_out', visibility: 'public' }));
out.updatedTopic = ok(await resend.topics.update({ id: out.offers.id, name: 'Special offers', description: 'Now and then' }));
out.topic = ok(await resend.topics.get(out.offers.id));
out.topics = ok(await resend.topics.list());

// Segments.
out.segment = ok(await resend.segments.create({ name: 'Customers' }));
out.other = ok(await resend.segments.create({ name: 'Others' }));
out.renamed = ok(await resend.segments.update(out.other.id, { name: 'The others' }));
out.segments = ok(await resend.segments.list({ limit: 1 }));
out.segmentsRest = ok(await resend.segments.list({ limit: 1, after: out.segments.data[0].id }));

// Contacts.
out.ann = ok(await resend.contacts.create({
  email: 'Ann+1@example.com', firstName: 'Ann', lastName: 'Example', unsubscribed: false,
  properties: { plan: 'pro', age: 42 },
  segments: [{ id: out.segment.id }], topics: [{ id: out.news.id, subscription: 'opt_out' }],
}));
out.bob = ok(await resend.contacts.create({ email: 'bob@example.com' }));
out.carl = ok(await resend.contacts.create({ audienceId: out.segment.id, email: 'carl@example.com', firstName: 'Carl' }));
const same = await resend.contacts.create({ email: 'ANN+1@example.com' });
[out.sameContact, out.errors.sameContact] = [same.data ?? {}, same.error ?? {}];
await refused('badContact', resend.contacts.create({ email: 'nobody' }));
await refused('badProperty', resend.contacts.create({ email: 'dora@example.com', properties: { age: 'old' } }));
out.byID = ok(await resend.contacts.get(out.ann.id));
out.byEmail = ok(await resend.contacts.get({ email: 'ann+1@example.com' }));
out.inAudience = ok(await resend.contacts.get({ audienceId: out.segment.id, id: out.carl.id }));
out.members = ok(await resend.contacts.list({ segmentId: out.segment.id }));
out.first = ok(await resend.contacts.list({ limit: 2 }));
out.rest = ok(await resend.contacts.list({ limit: 2, after: out.first.data[1].id }));

out.changed = ok(await resend.contacts.update({ id: out.ann.id, firstName: 'Anna', lastName: null, unsubscribed: true, properties: { plan: null, city: 'Bonn' } }));
out.afterChange = ok(await resend.contacts.get(out.ann.id));
out.back = ok(await resend.contacts.update({ email: 'ann+1@example.com', unsubscribed: false }));
out.afterBack = ok(await resend.contacts.get(out.ann.id));

out.added = ok(await resend.contacts.segments.add({ email: 'bob@example.com', segmentId: out.other.id }));
out.addedAgain = ok(await resend.contacts.segments.add({ contactId: out.bob.id, segmentId: out.other.id }));
out.segmentsOfBob = ok(await resend.contacts.segments.list({ contactId: out.bob.id }));
out.left = ok(await resend.contacts.segments.remove({ email: 'bob@example.com', segmentId: out.other.id }));
out.segmentsOfBobLeft = ok(await resend.contacts.segments.list({ email: 'bob@example.com' }));

out.topicsOfAnn = ok(await resend.contacts.topics.list({ id: out.ann.id }));
out.chosen = ok(await resend.contacts.topics.update({ email: 'ann+1@example.com', topics: [{ id: out.offers.id, subscription: 'opt_in' }] }));
out.topicsOfAnnAfter = ok(await resend.contacts.topics.list({ email: 'ann+1@example.com' }));

// A send with a topic: Ann opted out of it, Bob did not.
const mail = { from, subject: 'News', text: 'news', topicId: out.news.id };
await refused('optedOut', resend.emails.send({ ...mail, to: 'ann+1@example.com' }));
out.sent = ok(await resend.emails.send({ ...mail, to: ['bob@example.com', 'ann+1@example.com'] }));
out.sentEmail = ok(await resend.emails.get(out.sent.id));
await refused('foreignTopic', resend.emails.send({ ...mail, to: 'bob@example.com', topicId: out.segment.id }));

// An import.
const csv = 'Email,First Name,Plan\nbob@example.com,Robert,pro\neve@example.com,Eve,free\nno address,X,free\n';
out.import = ok(await resend.contacts.imports.create({
  file: new File([csv], 'contacts.csv', { type: 'text/csv' }),
  columnMap: { email: 'Email', firstName: 'First Name', properties: { plan: { column: 'Plan', type: 'string' } } },
  onConflict: 'upsert', segments: [{ id: out.other.id }], topics: [{ id: out.offers.id, subscription: 'opt_in' }],
}));
for (let tries = 0; tries < 600; tries++) {
  out.imported = ok(await resend.contacts.imports.get(out.import.id));
  if (out.imported.status === 'completed' || out.imported.status === 'failed') break;
  await pause(100);
}
out.imports = ok(await resend.contacts.imports.list({ status: 'completed' }));
out.eve = ok(await resend.contacts.get({ email: 'eve@example.com' }));
out.robert = ok(await resend.contacts.get({ email: 'bob@example.com' }));

// The end of all.
out.removed = ok(await resend.contacts.remove('eve@example.com'));
out.removedByID = ok(await resend.contacts.remove({ id: out.ann.id }));
out.removedInAudience = ok(await resend.contacts.remove({ audienceId: out.segment.id, email: 'carl@example.com' }));
await refused('gone', resend.contacts.get(out.ann.id));
await refused('goneAgain', resend.contacts.remove(out.ann.id));
out.removedSegment = ok(await resend.segments.remove(out.segment.id));
await refused('goneSegment', resend.segments.get(out.segment.id));
out.removedTopic = ok(await resend.topics.remove(out.offers.id));
out.removedProperty = ok(await resend.contactProperties.remove(out.age.id));
console.log(JSON.stringify(out));
