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

// shared:ui/chart.js
import { ui_chart$Bars, ui_chart$Legend, ui_chart$Meter, ui_chart$Scale, ui_chart$Spark, ui_chart$few, ui_chart$scaleOf } from "./app.js";

// shared:state.js
import { state$choose, state$mayAdmin, state$me, state$membership, state$signedIn, state$signedOut, state$stillSignedIn, state$team } from "./app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// shared:ui/list.js
import { ui_list$Bulk, ui_list$Csv, ui_list$Foot, ui_list$Table, ui_list$address } from "./app.js";

// module:domains.js
function AddDomain({ close }) {
  const [name, setName] = lib_core$useState("");
  const [path, setPath] = lib_core$useState("");
  const [wrong, say] = lib_core$useState("");
  const send = async () => {
    try {
      close(await api$api.post("/domains", { name: paths$domainIn(name), custom_return_path: path.trim() || void 0 }));
    } catch (e) {
      if (!(e instanceof api$ApiError)) throw e;
      say(e.message);
    }
  };
  return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("domains.add")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${() => close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("domains.add")}<//>`}>
		${wrong && lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Input} label=${i18n$t("domains.domain")} hint=${i18n$t("domains.nameHint")} value=${name} onInput=${setName} placeholder="news.example.com" autocomplete="off" spellcheck="false" required autofocus />
		<${ui_base$Input} label=${i18n$t("domains.path")} hint=${i18n$t("domains.pathHint")} value=${path} onInput=${setPath} placeholder="send" autocomplete="off" spellcheck="false" /><//>`;
}
var tracking = (d) => [d.open_tracking && i18n$t("domains.opens"), d.click_tracking && i18n$t("domains.clicks")].filter(Boolean).join(", ") || i18n$t("domains.off");
var lastDays = () => Array.from({ length: 30 }, (_, i) => new Date(Date.now() - (29 - i) * 864e5).toISOString().slice(0, 10));
function SentByDay({ of, rows }) {
  if (!rows) return null;
  const byDay = new Map(rows.filter((r) => r.domain_id === of.id).map((r) => [r.period, r.sent]));
  const values = lastDays().map((day) => byDay.get(day) ?? 0);
  const sum = values.reduce((a, b) => a + b, 0);
  return lib_core$html`<${ui_chart$Spark} values=${values} label=${i18n$t("domains.sentOf", { domain: of.name })} />${format$number(sum)}`;
}
function Domains() {
  const list = api$useList("/domains");
  const ids = list.rows.slice(0, 100).map((d) => d.id).join();
  const sent = api$useGet(ids ? "/emails/metrics" : null, { domain_id: ids, start_date: lastDays()[0], dimensions: "period,domain", granularity: "daily", metrics: "sent" });
  const add = async () => {
    const domain = await ui_float$dialog((close) => lib_core$html`<${AddDomain} close=${close} />`);
    if (domain) router$go(paths$encoded`/domains/${domain.id}`);
  };
  ui_float$useAsked(() => state$mayAdmin.value && add());
  const button = state$mayAdmin.value && lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${add}>${i18n$t("domains.add")}<//>`;
  return lib_core$html`<${ui_base$Head} title=${i18n$t("domains.title")}><${ui_list$Csv} path="/domains" name="domains" />${button}<//>
	<${ui_list$Table} list=${list} label=${i18n$t("domains.title")} open=${(row) => router$base + paths$encoded`/domains/${row.id}`} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["mail.example.com", lib_core$html`<${ui_base$Status} of="verified" />`], ["news.example.com", lib_core$html`<${ui_base$Status} of="pending" />`]]} icon="globe" title=${i18n$t("domains.none")} act=${button}>${i18n$t(state$mayAdmin.value ? "domains.noneText" : "domains.noneAsk")}<//>`} columns=${[
    { name: i18n$t("domains.domain"), class: "cell-name cell-cut medium", cell: (row) => lib_core$html`<a href=${router$base + paths$encoded`/domains/${row.id}`} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${i18n$t("domains.tracking")}: ${tracking(row)}</span>` },
    { name: i18n$t("domains.state"), class: "w-status", cell: (row) => lib_core$html`<${ui_base$Status} of=${row.status} word=${row.status === "failed" ? i18n$t("domains.failed") : void 0} />` },
    { name: i18n$t("domains.sent30"), class: "w-part nowrap hide-s", cell: (row) => lib_core$html`<${SentByDay} of=${row} rows=${sent.data?.data} />` },
    { name: i18n$t("domains.region"), class: "cell-cut drop-1 w-relay", cell: (row) => row.region },
    { name: i18n$t("domains.tracking"), class: "cell-cut hide-s", cell: tracking },
    { name: i18n$t("domains.added"), class: "w-age num muted", cell: (row) => lib_core$html`<${ui_base$Time} at=${row.created_at} />` }
  ]} />`;
}
export {
  Domains as default
};
