// Verifies a webhook request, which REQUEST has as JSON, with the libraries svix and standardwebhooks: as it is, with
// another body, with another secret, and late. Prints what each says as one JSON object.
import { Webhook as Svix } from 'svix';
import { Webhook as Standard } from 'standardwebhooks';

const { body, headers, secret } = JSON.parse(process.env.REQUEST);
const out = {};
for (const [name, Webhook] of Object.entries({ svix: Svix, standardwebhooks: Standard })) {
  const verify = (b, h, s) => {
    try {
      return { type: new Webhook(s).verify(b, h).type };
    } catch (e) {
      return { refused: String(e.message) };
    }
  };
  const late = { ...headers, 'svix-timestamp': '1614265330', 'webhook-timestamp': '1614265330' };
  out[name] = {
    good: verify(body, headers, secret),
    changed: verify(body.replace('Lunch', 'Dinner'), headers, secret),
    foreign: verify(body, headers, 'whsec_' + Buffer.alloc(32, 7).toString('base64')),
    late: verify(body, late, secret),
  };
}
console.log(JSON.stringify(out));
