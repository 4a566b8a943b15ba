// How an application sends by a template, in seven languages.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { Button, Code, Notice, useEscape } from './ui/base.js';

const languages = [['curl', 'curl'], ['node', 'Node.js'], ['python', 'Python'], ['php', 'PHP'], ['ruby', 'Ruby'], ['go', 'Go'], ['java', 'Java']];

/** The call as source. @param {string} language @param {string} origin @param {any} body */
export function call(language, origin, body) {
	const json = JSON.stringify(body, null, 2);
	const line = JSON.stringify(body);
	const url = `${origin}/emails`;
	switch (language) {
	case 'node': return `const answer = await fetch('${url}', {\n  method: 'POST',\n  headers: {\n    Authorization: \`Bearer \${process.env.MAILER_KEY}\`,\n    'Content-Type': 'application/json',\n  },\n  body: JSON.stringify(${json.replaceAll('\n', '\n  ')}),\n});\nconsole.log(await answer.json());\n`;
	case 'python': return `import json, os, urllib.request\n\nbody = json.loads(r"""\n${json}\n""")\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps(body).encode(),\n    headers={\n        "Authorization": "Bearer " + os.environ["MAILER_KEY"],\n        "Content-Type": "application/json",\n        "User-Agent": "shop/1.0",\n    },\n)\nprint(json.load(urllib.request.urlopen(request)))\n`;
	case 'php': return `<?php\n$body = <<<'JSON'\n${json}\nJSON;\n$request = curl_init('${url}');\ncurl_setopt_array($request, [\n    CURLOPT_RETURNTRANSFER => true,\n    CURLOPT_POSTFIELDS => $body,\n    CURLOPT_HTTPHEADER => [\n        'Authorization: Bearer ' . getenv('MAILER_KEY'),\n        'Content-Type: application/json',\n    ],\n]);\necho curl_exec($request);\n`;
	case 'ruby': return `require 'net/http'\nrequire 'json'\n\nbody = JSON.parse(<<~'JSON')\n${json.replace(/^/gm, '  ')}\nJSON\nanswer = Net::HTTP.post(URI('${url}'), body.to_json,\n  'Authorization' => "Bearer #{ENV['MAILER_KEY']}", 'Content-Type' => 'application/json')\nputs answer.body\n`;
	case 'go': return `package main\n\nimport (\n\t"fmt"\n\t"io"\n\t"log"\n\t"net/http"\n\t"os"\n\t"strings"\n)\n\nfunc main() {\n\trequest, err := http.NewRequest("POST", "${url}", strings.NewReader(${JSON.stringify(line)}))\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("MAILER_KEY"))\n\trequest.Header.Set("Content-Type", "application/json")\n\tanswer, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n\tsaid, _ := io.ReadAll(answer.Body)\n\tfmt.Println(string(said))\n}\n`;
	case 'java': return `import java.net.URI;\nimport java.net.http.*;\n\nvar request = HttpRequest.newBuilder(URI.create("${url}"))\n    .header("Authorization", "Bearer " + System.getenv("MAILER_KEY"))\n    .header("Content-Type", "application/json")\n    .POST(HttpRequest.BodyPublishers.ofString(${JSON.stringify(line)}))\n    .build();\nvar answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());\nSystem.out.println(answer.body());\n`;
	default: return `curl ${url} \\\n  -H "Authorization: Bearer $MAILER_KEY" \\\n  -H 'Content-Type: application/json' \\\n  --data-binary @- <<'JSON'\n${json}\nJSON\n`;
	}
}

/** @param {{of: any, published: boolean, values: Record<string, any>, close: () => void}} props */
export function Call({ of, published, values, close }) {
	useEscape(close);
	const [language, setLanguage] = useState('curl');
	const domains = useGet('/domains', { limit: 100 }).data?.data ?? [];
	const domain = (domains.find((d) => d.status === 'verified') ?? domains[0])?.name ?? 'example.com';
	const variables = Object.fromEntries((of.variables ?? []).filter((v) => v.key).map((v) => [v.key, values[v.key] ?? v.fallback_value ?? (v.type === 'number' ? 1 : 'text')]));
	const body = { ...(of.from ? {} : { from: `Shop <hello@${domain}>` }), to: ['ann@example.net'], ...(of.subject ? {} : { subject: 'Hello' }), template: { id: of.alias || of.id, ...(Object.keys(variables).length ? { variables } : {}) } };
	return html`<section aria-label=${t('template.callTitle')}><div class="bench-head"><h2 class="t14">${t('template.callTitle')}</h2><span class="push"></span><${Button} icon="x" kind="quiet" label=${t('ui.close')} onClick=${close} /></div>
	<div class="bench-pad stack">${!published && html`<${Notice} kind="warn">${t('template.draftText')}. ${t('template.callText')}<//>`}<div class="wide"><${Code} name=${t('template.language')} tabs=${languages} at=${language} onTab=${setLanguage} code=${call(language, location.origin, body)} /></div></div></section>`;
}
