// What the scripts of this folder share: each call is kept under a name, with what
// the client answered or threw, and all are printed as one JSON object.
const out = {};

// call keeps { data } or { error } as Resend's own clients do; the first of them
// returned the refusal itself, and others throw it.
export async function call(name, made) {
  try {
    const answer = await made();
    const refusal = answer?.error ?? (answer?.statusCode ? answer : null);
    if (refusal) out[name] = { error: String(refusal.message ?? refusal), name: refusal.name };
    else out[name] = { data: answer?.data === undefined ? answer ?? null : answer.data };
  } catch (error) {
    out[name] = { error: String(error.message ?? error) };
  }
  return out[name].data;
}

export const print = () => console.log(JSON.stringify(out));

// redirect sends what is for Resend to the service under test: for clients that
// have no setting for it.
export function redirect() {
  const plain = globalThis.fetch;
  globalThis.fetch = (url, options) => plain(String(url).replace('https://api.resend.com', process.env.RESEND_BASE_URL), options);
}
