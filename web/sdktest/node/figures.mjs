// Asks for the figures and the requests of a team. Prints what it got as one JSON
// object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const metrics = ok(await resend.emails.metrics({ metrics: ['sent', 'bounced'], dimensions: ['period', 'domain'], granularity: 'monthly', timezone: 'Europe/Berlin' }));
const list = ok(await resend.logs.list({ limit: 2 }));
const log = ok(await resend.logs.get(list.data[0].id));
console.log(JSON.stringify({ metrics, list, log }));
