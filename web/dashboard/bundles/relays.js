// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:format.js
import { format$ago, format$clock, format$day, format$duration, format$exact, format$gap, format$mailbox, format$number, format$percent, format$relative, format$seconds, format$short, format$size, format$stamp } from "./app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:paths.js
import { paths$domainIn, paths$encoded, paths$fileAt, paths$idOf, paths$isId, paths$isPath, paths$ownDomain } from "./app.js";

// shared:router.js
import { router$base, router$go, router$href, router$match, router$place, router$setQuery, router$start } from "./app.js";

// shared:relays-lights.js
import { relays_lights$Light, relays_lights$Relays, relays_lights$doing } from "./app.js";

// shared:relays-add.js
import { relays_add$Steps, relays_add$addDialog } from "./app.js";

// shared:reports.js
import { reports$RelaySections, reports$default } from "./shared.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// module:relays.js
function Relays() {
  const got = api$useGet("/relays", {}, { team: null, live: (e) => e.name === "relay", every: 5 });
  const named = router$place.value.query.get("relay");
  const add = async () => {
    const region = await relays_add$addDialog();
    await got.reload();
    if (typeof region === "string") router$go(paths$encoded`/operator/relays?relay=${region}`);
  };
  ui_float$useAsked(add);
  const head = lib_core$html`<${ui_base$Head} title=${i18n$t("relays.title")}><${ui_base$Button} icon="plus" kind="primary" onClick=${add}>${i18n$t("relays.add")}<//><//><${reports$RelaySections} at="/operator/relays" />`;
  if (got.error && !got.data) return lib_core$html`${head}<${ui_base$Failed} error=${got.error} retry=${got.reload} />`;
  if (!got.data) return lib_core$html`${head}<${ui_base$Bones} rows=${3} />`;
  const rows = got.data.data;
  const one = rows.find((r) => r.region === named);
  if (one) return lib_core$html`<${Relay} key=${one.region} of=${one} reload=${got.reload} />`;
  if (named) return lib_core$html`${head}<${ui_base$Empty} icon="relay" title=${i18n$t("relays.gone", { name: named })} act=${lib_core$html`<${ui_base$Button} href=${`${router$base}/operator/relays`}>${i18n$t("relays.all")}<//>`} />`;
  if (!rows.length) return lib_core$html`${head}<${ui_base$Empty} ghost=${[[lib_core$html`<${ui_base$Status} of="open" />`, lib_core$html`us-east-1 <span class="muted mono t12">smtp.example.net</span>`, "0"]]} icon="relay" title=${i18n$t("relays.noneTitle")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${add}>${i18n$t("relays.add")}<//>`}>${i18n$t("relays.noneText")}<//>`;
  return lib_core$html`${head}<table class="table table--rows table--fixed" aria-label=${i18n$t("relays.title")}><thead><tr><th class="w-status hide-s">${i18n$t("relays.state")}</th><th class="cell-name">${i18n$t("relays.name")}</th><th class="hide-s">${i18n$t("relays.words")}</th><th class="num w-num drop-2">${i18n$t("relays.todayHead")}</th><th class="num w-num">${i18n$t("relays.waits")}</th><th class="num cell-check"><span class="vh">${i18n$t("ui.acts")}</span></th></tr></thead><tbody>${rows.map((r) => lib_core$html`<tr key=${r.region}><td class="hide-s"><${ui_base$Status} of=${r.state} /></td><td class="cell-name cell-cut"><a class="medium" href=${router$base + paths$encoded`/operator/relays?relay=${r.region}`}>${r.region}</a> <span class="mono muted" title=${r.host}>${r.host}</span><span class="cell-sub"><${ui_base$Status} of=${r.state} /> ${relays_lights$doing(r)}</span></td><td class="cell-cut muted hide-s" title=${relays_lights$doing(r)}>${relays_lights$doing(r)}</td><td class="num drop-2">${r.daily ? `${format$number(r.daily_used)} / ${format$number(r.daily)}` : "–"}</td><td class="num">${r.waiting ? lib_core$html`<a href=${router$base + paths$encoded`/queue?team=all&tab=emails&relay=${r.region}`}>${format$number(r.waiting)}</a>` : "0"}</td><td class="num"><${Acts} of=${r} reload=${got.reload} /></td></tr>`)}</tbody></table>`;
}
function Acts({ of: r, reload }) {
  return lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("relays.actsOf", { name: r.region })} items=${[
    r.state === "paused" ? { icon: "play", name: i18n$t("relays.resume"), run: () => resume(r, reload) } : { icon: "pause", name: i18n$t("relays.pause"), run: () => pause(r, reload) },
    { icon: "health", name: i18n$t("relays.test"), href: router$base + paths$encoded`/operator/relays?relay=${r.region}` },
    r.from === "database" && { icon: "lock", name: i18n$t("relays.change"), run: () => change(r, reload) },
    null,
    r.from === "database" && { icon: "trash", name: i18n$t("relays.remove"), danger: true, run: () => remove(r, reload) }
  ]} />`;
}
async function pause(r, reload) {
  const span = await ui_float$dialog((close) => lib_core$html`<${Pause} name=${r.region} close=${close} />`);
  if (span === void 0) return;
  await ui_float$attempt(async () => {
    await api$api.post(paths$encoded`/relays/${r.region}/pause`, span ? { for: span } : void 0, { team: null });
    await reload();
  }, i18n$t("relays.paused", { name: r.region }), { undo: () => resume(r, reload) });
}
function Pause({ name, close }) {
  return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("relays.pauseTitle", { name })} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${() => close()}>${i18n$t("ui.cancel")}<//>`}><p>${i18n$t("relays.pauseText")}</p><div class="row row--wrap">${["30m", "2h", "1d", ""].map((span) => lib_core$html`<${ui_base$Button} onClick=${() => close(span)}>${i18n$t(`relays.spans.${span || "ever"}`)}<//>`)}</div><//>`;
}
var resume = (r, reload) => ui_float$attempt(async () => {
  await api$api.post(paths$encoded`/relays/${r.region}/resume`, void 0, { team: null });
  await reload();
}, i18n$t("relays.resumed", { name: r.region }));
async function remove(r, reload) {
  if (!await ui_float$confirm({ title: i18n$t("relays.removeTitle", { name: r.region }), text: i18n$t("relays.removeText", { n: r.waiting }), act: i18n$t("relays.remove") })) return;
  if (await ui_float$attempt(() => api$api.del(paths$encoded`/relays/${r.region}`, void 0, { team: null }), i18n$t("relays.removed", { name: r.region }))) {
    router$go("/operator/relays");
    await reload();
  }
}
async function change(r, reload) {
  if (await ui_float$dialog((close) => lib_core$html`<${Change} of=${r} close=${close} />`)) {
    ui_float$toast(i18n$t("relays.changed", { name: r.region }));
    await reload();
  }
}
function Change({ of: r, close }) {
  const [url, setUrl] = lib_core$useState(`${/:465$/.test(r.host) ? "smtps" : "smtp"}://${r.user ? `${encodeURIComponent(r.user)}:PASSWORD@` : ""}${r.host}`);
  const [wrong, setWrong] = lib_core$useState("");
  const save = async () => {
    try {
      close(await api$api.post("/relays", { region: r.region, url }, { team: null }));
    } catch (e) {
      if (!(e instanceof api$ApiError)) throw e;
      setWrong(e.message);
    }
  };
  return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("relays.changeTitle", { name: r.region })} onSubmit=${save} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${() => close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("ui.save")}<//>`}><p>${i18n$t("relays.changeText")}</p><${ui_base$Input} label=${i18n$t("relays.url")} mono value=${url} onInput=${setUrl} error=${wrong} hint=${i18n$t("relays.urlHint")} autocomplete="off" spellcheck=${false} autofocus /><//>`;
}
function said(r) {
  const words = { relay: r.region, host: r.host, user: r.user ?? "", n: r.waiting, reason: r.reason ?? "" };
  if (r.state === "failing") {
    const signIn = /^auth|535|sign/.test(r.reason ?? "");
    return { kind: "bad", icon: "alert", line: i18n$t(signIn && r.user ? "relays.said.signIn" : "relays.said.failing", words), fix: i18n$t(signIn ? "relays.said.signInFix" : "relays.said.failingFix", words) };
  }
  if (r.state === "paused") return { kind: "warn", icon: "st-resting", line: i18n$t("relays.said.paused", words), fix: i18n$t("relays.said.pausedFix", words) };
  if (r.state === "resting") return { kind: "warn", icon: "st-resting", line: i18n$t("relays.said.resting", words), fix: r.reason };
  return { kind: "good", icon: "st-open", line: i18n$t("relays.said.open", words), fix: void 0 };
}
function Relay({ of: r, reload }) {
  const [test, setTest] = lib_core$useState(
    /** @type {any} */
    null
  );
  const [to, setTo] = lib_core$useState("");
  const run = () => ui_float$attempt(async () => {
    setTest({ running: true });
    try {
      setTest(await api$api.post(paths$encoded`/relays/${r.region}/test`, to.trim() ? { send_to: to.trim() } : void 0, { team: null }));
    } catch (e) {
      setTest(null);
      throw e;
    }
  });
  lib_core$useEffect(() => {
    if (r.state === "failing") run();
  }, []);
  const head = said(r);
  const own = r.from === "database";
  const shell = own ? `# the file has the URL with the new password; only you can read it
mailer relays add ${r.region} --url-file /etc/mailer/${r.region}.url
mailer relays test ${r.region} --to you@example.org` : `# set when the server starts: change --relay or MAILER_RELAY, then restart
mailer relays test ${r.region} --to you@example.org`;
  return lib_core$html`<${ui_base$Head} title=${r.region} path=${[[i18n$t("relays.title"), `${router$base}/operator/relays`]]}>${r.state === "paused" ? lib_core$html`<${ui_base$Button} icon="play" onClick=${() => resume(r, reload)}>${i18n$t("relays.resume")}<//>` : lib_core$html`<${ui_base$Button} icon="pause" onClick=${() => pause(r, reload)}>${i18n$t("relays.pause")}<//>`}${own && lib_core$html`<${ui_base$Button} icon="lock" class="hide-s" onClick=${() => change(r, reload)}>${i18n$t("relays.change")}<//>`}<${Acts} of=${r} reload=${reload} /><//>
	<${ui_base$Verdict} ...${head} />
	<div class="page">${r.note && lib_core$html`<${ui_base$Notice} kind="warn">${r.note}<//>`}<div class="cols"><${ui_base$Section} title=${i18n$t("relays.lastTest")} acts=${lib_core$html`<${ui_base$Button} icon="refresh" onClick=${run}>${test ? i18n$t("relays.testAgain") : i18n$t("relays.test")}<//>`}>
		<div class="stack"><form class="wide" onSubmit=${(e) => {
    e.preventDefault();
    run();
  }}><${ui_base$Input} label=${i18n$t("relays.sendTo")} hint=${i18n$t("relays.sendToHint")} value=${to} onInput=${setTo} autocomplete="off" /></form><div class="wide">${test ? lib_core$html`<${relays_add$Steps} test=${test} />` : lib_core$html`<p class="muted">${i18n$t("relays.untested")}</p>`}</div></div><//>
	<${ui_base$Section} title=${i18n$t("relays.facts")}><${ui_base$Facts} pairs=${[
    [i18n$t("relays.state"), lib_core$html`<${ui_base$Status} of=${r.state} />${r.since ? lib_core$html` ${i18n$say("relays.since", { at: lib_core$html`<time datetime=${r.since} title=${format$exact(r.since)}>${format$clock(r.since)}</time>` })}` : ""}`],
    [i18n$t("relays.nextProbeName"), r.next_try && format$relative(r.next_try)],
    [i18n$t("relays.host"), lib_core$html`<span class="mono">${r.host}</span>`],
    [i18n$t("relays.user"), r.user && lib_core$html`<span class="mono">${r.user}</span>`],
    [i18n$t("relays.from"), i18n$t(`relays.froms.${r.from}`)],
    [i18n$t("relays.rateName"), r.rate ? i18n$t("relays.rate", { n: r.rate }) : i18n$t("relays.noLimit")],
    [i18n$t("relays.todayName"), r.daily ? i18n$t("relays.today", { used: r.daily_used, of: r.daily }) : i18n$t("relays.noDaily")],
    [i18n$t("relays.connections"), format$number(r.connections)],
    [i18n$t("relays.waits"), r.waiting ? lib_core$html`<a class="link" href=${router$base + paths$encoded`/queue?team=all&tab=emails&relay=${r.region}`}>${i18n$t("relays.emails", { n: r.waiting })}</a>` : i18n$t("relays.noneWaits")]
  ]} /><//></div><${ui_base$Section} title=${i18n$t("relays.shell")}><${ui_base$Code} name="shell" code=${shell} /><//></div>`;
}
export {
  Relays as default
};
