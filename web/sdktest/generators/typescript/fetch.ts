// openapi-typescript makes the types, openapi-fetch uses them.
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./schema";
import { csv, event, from, key, run, url } from "./world";

type Bounced = webhooks["email.bounced"]["post"]["requestBody"]["content"]["application/json"];

run(async () => {
  const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
  const mail: components["schemas"]["SendEmailRequest"] = {
    from,
    to: ["ann@example.net"],
    subject: "openapi-fetch",
    text: "Hello",
    tags: [{ name: "made", value: "by_machine" }],
  };
  const sent = await client.POST("/emails", { body: mail });
  if (sent.error) throw sent.error;
  const list = await client.GET("/emails", { params: { query: { limit: 5 } } });
  if (list.error) throw list.error;
  const imported = await client.POST("/contacts/imports", {
    body: { file: csv, on_conflict: "upsert" },
    bodySerializer: (body) => {
      const form = new FormData();
      form.set("file", new Blob([body.file]), "people.csv");
      if (body.on_conflict) form.set("on_conflict", body.on_conflict);
      return form;
    },
  });
  if (imported.error) throw imported.error;
  return {
    sent: sent.data.id,
    listed: list.data.data.map((row) => row.id),
    imported: imported.data.id,
    bounced: (event as Bounced).data.bounce?.message,
  };
});
