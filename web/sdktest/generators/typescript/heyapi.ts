// @hey-api/openapi-ts makes types and functions.
import { createContactImport, listEmails, sendEmail, type EmailBouncedEvent } from "./hey";
import { client } from "./hey/client.gen";
import { csv, event, from, key, run, url } from "./world";

client.setConfig({ baseUrl: url, auth: key, throwOnError: true });

run(async () => {
  const sent = await sendEmail<true>({
    body: { from, to: ["ann@example.net"], subject: "hey-api", text: "Hello", tags: [{ name: "made", value: "by_machine" }] },
  });
  const list = await listEmails<true>({ query: { limit: 5 } });
  const imported = await createContactImport<true>({ body: { file: new File([csv], "people.csv"), on_conflict: "upsert" } });
  return {
    sent: sent.data.id,
    listed: list.data.data.map((row) => row.id),
    imported: imported.data.id,
    bounced: (event as EmailBouncedEvent).data.bounce?.message,
  };
});
