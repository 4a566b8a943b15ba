# Checks messages with dkimpy, pyspf and publicsuffix2, which share no code with Mailer, and evaluates
# DMARC. It reads cases as JSON from standard input, and writes one JSON line of results a case.
import email.utils, io, json, logging, sys
import dkim, publicsuffix2, spf

logging.disable(logging.CRITICAL)
psl = publicsuffix2.PublicSuffixList()

class Failed(Exception):
    pass

def records(zone, name, kind):
    name = name.rstrip('.').lower()
    found = zone.get(name, {})
    if 'fail' in found:
        raise Failed(name)
    return found.get(kind, [])

def spf_result(case):
    def lookup(name, kind, strict=True, timeout=20):
        try:
            values = records(case['zone'], name, kind)
        except Failed as e:
            raise spf.TempError('DNS ' + str(e))
        if kind == 'TXT':
            values = [[v.encode()] for v in values]
        if kind == 'MX':
            values = [(10, v) for v in values]
        return [((name, kind), v) for v in values]
    spf.DNSLookup = lookup
    return spf.check2(i=case['remote'], s=case['mail_from'], h=case['helo'])[0]

# One result for each signature: pass, temperror, or none of these.
def dkim_results(case):
    def key(name, timeout=5):
        values = records(case['zone'], name.decode(), 'TXT')
        return values[0].encode() if len(values) == 1 else None
    raw, results = case['raw'].encode(), []
    count = sum(1 for n, _ in dkim.rfc822_parse(raw)[0] if n.lower() == b'dkim-signature')
    for i in range(count):
        d = dkim.DKIM(raw)
        try:
            result = 'pass' if d.verify(i, dnsfunc=key) else 'fail'
        except Failed:
            result = 'temperror'
        except dkim.DKIMException:
            result = 'fail'
        results.append((result, (d.domain or b'').decode().lower()))
    return results

def policy(case, author, org):
    for name in dict.fromkeys([author, org]):
        texts = [t for t in records(case['zone'], '_dmarc.' + name, 'TXT') if t.split(';')[0].strip() == 'v=DMARC1']
        if len(texts) == 1:
            return dict((p.split('=', 1)[0].strip(), p.split('=', 1)[1].strip()) for p in texts[0].split(';') if '=' in p)
    return None

def dmarc_result(case, spf_says, signatures):
    author = case['author']
    def org(name):
        return psl.get_sld(name) or name
    def aligned(name, strict):
        return name == author or not strict and org(name) == org(author)
    envelope = case['mail_from'].rpartition('@')[2] or case['helo']
    checked = [('aspf', spf_says, envelope)] + [('adkim', r, d) for r, d in signatures]
    try:
        tags = policy(case, author, org(author))
    except Failed:
        return 'temperror', any(r == 'pass' and d == author for _, r, d in checked)
    modes = tags or {}
    def best(wanted):
        return any(r == wanted and aligned(d, modes.get(t) == 's') for t, r, d in checked)
    if tags is None:
        return 'none', best('pass')
    if tags.get('p', 'none') not in ('none', 'quarantine', 'reject') and 'rua' not in tags:
        return 'permerror', best('pass')
    return 'pass' if best('pass') else 'temperror' if best('temperror') else 'fail', best('pass')

for case in json.load(sys.stdin):
    spf_says, signatures = spf_result(case), dkim_results(case)
    dmarc, aligned = dmarc_result(case, spf_says, signatures)
    kinds = [r for r, _ in signatures]
    print(json.dumps({
        'spf': spf_says, 'dmarc': dmarc, 'from_aligned': aligned,
        'dkim': 'none' if not kinds else 'pass' if 'pass' in kinds else 'temperror' if 'temperror' in kinds else 'fail',
        'dkim_domains': list(dict.fromkeys(d for r, d in signatures if r == 'pass')) or None,
    }))
