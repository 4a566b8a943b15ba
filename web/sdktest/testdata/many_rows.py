# many_rows.py DATABASE ROWS: gives the team of a database ROWS emails and contacts, and a
# tenth of that of everything else that grows. The server must be stopped.
import random, sqlite3, sys, time

c = sqlite3.connect(sys.argv[1], isolation_level=None)
rows = int(sys.argv[2])
tenth = rows // 10
day = 86_400_000
now = int(time.time() * 1000) - 60_000
rnd = random.Random(1)
c.execute("PRAGMA synchronous = OFF")
c.execute("PRAGMA cache_size = -400000")
team, relay, key = c.execute("SELECT team_id, relay, key_id FROM emails WHERE key_id IS NOT NULL LIMIT 1").fetchone()
properties = c.execute("SELECT max(properties) FROM contacts").fetchone()[0]


def ids(n, kind, span=30 * day):
    """Ids of n things over a span until now, in their order, and when each was made."""
    for i in range(n):
        at = now - span + span * i // n
        text = f"{at:012x}"
        yield i, f"{text[:8]}-{text[8:]}-7{kind:03x}-8000-{i:012x}", at


def fill(table, columns, made):
    made = iter(made)
    c.execute("BEGIN")
    c.executemany(f"INSERT INTO {table} ({columns}) VALUES ({','.join('?' * len(columns.split(',')))})", made)
    c.execute("COMMIT")


def blob():
    return rnd.randbytes(16)


ends = ["delivered"] * 85 + ["sent"] * 4 + ["opened"] * 4 + ["clicked"] * 2 + ["bounced"] * 3 + ["complained", "failed"]
waits = rows - tenth  # the newest emails wait


def last(i):
    if i >= waits:
        return "scheduled" if i % 2 else "delivery_delayed"
    return ends[i % 100]


sender = '[{"name":"Harbour & Pine","local":"invoices","domain":"example.test"}]'
envelope = {"opened": "delivered", "clicked": "delivered", "scheduled": "queued"}
fill("emails", "id,team_id,key_id,relay,message_id,sender,to_list,subject,tags,attachments,source,created_at,last_event",
     ((e, team, key, relay, e + "@example.test", sender, f'[{{"local":"reader{i % 300_000}","domain":"d{i % 50}.example.org"}}]', f"Invoice {i}",
       '[{"name":"kind","value":"invoice"}]', 0, "api", at, last(i)) for i, e, at in ids(rows, 1)))
fill("contents", "email_id,html,plain,sum", ((e, f"<p>Thank you, reader {i}, for your order.</p>", "Thank you for your order.", 0) for i, e, at in ids(rows, 1)))
fill("recipients", "email_id,n,address,state,team_id", ((e, 0, f"reader{i % 300_000}@d{i % 50}.example.org", envelope.get(last(i), last(i)), team) for i, e, at in ids(rows, 1)))
fill("events", "email_id,id,type,recipient,detail,created_at",
     ((e, e[:14] + "7002" + e[18:], last(i) if last(i) in ("bounced", "failed", "complained", "delivery_delayed") else "sent", f"reader{i % 300_000}@d{i % 50}.example.org",
       '{"message":"Relay says: 250 2.0.0 Ok","reply_code":250,"reply":"Ok","attempt":1}', at + 900) for i, e, at in ids(rows, 1) if last(i) != "scheduled"))
c.execute("INSERT INTO settings VALUES ('recipients indexed', CAST((SELECT max(id) FROM emails) AS BLOB)) ON CONFLICT DO UPDATE SET value = excluded.value")
fill("units", "email_id,team_id,relay,domain,bulk,state,attempts,next_at,since,size",
     ((e, team, relay, "example.test", 0, "later" if i % 2 else "due", 0 if i % 2 else 3, now + 2 * day + i, None if i % 2 else now - 3_600_000, 2000)
      for i, e, at in ids(rows, 1) if i >= waits))

first, family = ["Zofia", "Hanako", "Noor", "Ingrid", "Łucja"], ["Nowak", "Yamada", "Haddad", "Solheim"]
fill("contacts", "team_id,id,address,email,first_name,last_name,unsubscribed,properties,created_at,updated_at",
     ((team, k, blob(), f"reader{i}@d{i % 50}.example.org", first[i % 5], f"{family[i % 4]} {i}", int(i % 50 == 0), properties, at, at) for i, k, at in ids(rows, 3)))
c.execute("UPDATE teams SET contacts = (SELECT count(*) FROM contacts WHERE team_id = id) WHERE id = ?", (team,))
for segment, topic in [c.execute("SELECT (SELECT min(id) FROM segments), (SELECT min(id) FROM topics)").fetchone()]:
    fill("members", "segment_id,contact_id", ((segment, k) for i, k, at in ids(rows, 3) if i % 3 == 0))
    c.execute("UPDATE segments SET members = (SELECT count(*) FROM members WHERE segment_id = id)")
    fill("choices", "topic_id,address,subscription,chosen_at",
         ((topic, a, "opt_out", now) for (a,) in c.execute("SELECT address FROM contacts LIMIT ?", (tenth,)).fetchall()))
fill("suppressions", "id,team_id,email,address,origin,created_at",
     ((k, team, f"gone{i}@d{i % 50}.example.org", blob(), ["bounce", "complaint", "manual", "unsubscribe"][i % 4], at) for i, k, at in ids(tenth, 4)))
fill("request_logs", "team_id,id,key_id,method,endpoint,status,micros,user_agent,error,addresses",
     ((team, k, key, "POST", "/emails", 422 if i % 20 == 0 else 200, 900, "resend-node/6", "validation_error" if i % 20 == 0 else None, 0) for i, k, at in ids(tenth, 5)))
fill("audit_logs", "id,team_id,actor_type,actor,action,target,created_at", ((k, team, "key", key, "suppression.remove", f"target {i}", at) for i, k, at in ids(tenth, 6)))

hook, = c.execute("SELECT min(id) FROM webhooks").fetchone()
seq = (c.execute("SELECT max(last) FROM webhook_event_counts").fetchone()[0] or 0)
payload = '{"type":"email.delivered","created_at":"2026-11-01T00:00:00Z","data":{"email_id":"x","to":["reader@example.org"]}}'
fill("webhook_events", "id,team_id,seq,type,payload,created_at", ((k, team, seq + i + 1, "email.delivered", payload, at) for i, k, at in ids(tenth, 7)))
c.execute("INSERT INTO webhook_event_counts VALUES (?, ?) ON CONFLICT DO UPDATE SET last = excluded.last", (team, seq + tenth))
c.execute("UPDATE webhooks SET reached = ?", (seq + tenth,))
fill("deliveries", "webhook_id,event_id,status,attempts,next_at", ((hook, k, "failed" if i % 10 == 0 else "success", 1, None) for i, k, at in ids(tenth, 7)))
fill("webhook_attempts", "webhook_id,event_id,id,team_id,http_status,response,sent_at",
     ((hook, k, k[:14] + "7008" + k[18:], team, 500 if i % 10 == 0 else 200, "ok", at) for i, k, at in ids(tenth, 7)))

hours = now // 3_600_000
c.execute("BEGIN")
for h in range(2, 24 * 90):
    for n in range(8):
        c.execute("""INSERT OR IGNORE INTO mail_counts (team_id, hour, domain, broadcast_id, region, sent, delivered, bounced_permanent, complained,
            rated, rated_bounced, rated_complained, scored, points) VALUES (?, ?, ?, '', ?, 1400, 1300, 30, 1, 1400, 30, 1, 1400, 140000)""",
                  (team, hours - h, f"d{n}.example.test" if n else "example.test", relay))
c.execute("COMMIT")
for d in range(1, 90):
    c.execute("INSERT OR IGNORE INTO team_days (team_id, day, recipients) VALUES (?, ?, 33000)", (team, hours // 24 - d))

# A broadcast to a third of the contacts that was sent: the one that is there, grown.
gone = c.execute("SELECT id, mails FROM broadcasts WHERE mails IS NOT NULL LIMIT 1").fetchone()
if gone:
    n = rows // 3
    fill("broadcast_recipients", "id,contact_id,email,seen",
         ((f"{gone[1]}{i + 100:08x}", k, f"reader{i}@d{i % 50}.example.org", [1, 5, 5, 13][i % 4]) for i, k, at in ids(n, 3)))
    c.execute("UPDATE broadcasts SET audience = audience + ?1, written = written + ?1, begun = begun + ?1, sent = sent + ?1, delivered = delivered + ?1 * 3 / 4 WHERE id = ?2", (n, gone[0]))
imported = c.execute("SELECT min(id) FROM imports").fetchone()[0]
fill("import_errors", "import_id,id,line,message", ((imported, k, i + 2, "email is no address") for i, k, at in ids(tenth, 9)))
c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
