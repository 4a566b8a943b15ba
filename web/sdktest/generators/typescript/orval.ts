// orval makes types and functions around fetch.
import { createContactImport, listEmails, sendEmail, type EmailBouncedEvent } from "./orval/client";
import { csv, event, from, key, run } from "./world";

const auth: RequestInit = { headers: { Authorization: `Bearer ${key}` } };

run(async () => {
  const sent = await sendEmail(
    { from, to: ["ann@example.net"], subject: "orval", text: "Hello", tags: [{ name: "made", value: "by_machine" }] },
    auth,
  );
  if (sent.status !== 200) throw sent.data;
  const list = await listEmails({ limit: 5 }, auth);
  if (list.status !== 200) throw list.data;
  const imported = await createContactImport({ file: new File([csv], "people.csv"), on_conflict: "upsert" }, {}, auth);
  if (imported.status !== 201) throw imported.data;
  return {
    sent: sent.data.id,
    listed: list.data.data.map((row) => row.id),
    imported: imported.data.id,
    bounced: (event as EmailBouncedEvent).data.bounce?.message,
  };
});
