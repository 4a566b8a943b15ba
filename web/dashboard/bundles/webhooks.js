// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:paths.js
import { paths$domainIn, paths$encoded, paths$fileAt, paths$idOf, paths$isId, paths$isPath, paths$ownDomain } from "./app.js";

// shared:router.js
import { router$base, router$go, router$href, router$match, router$place, router$setQuery, router$start } from "./app.js";

// shared:state.js
import { state$choose, state$mayAdmin, state$me, state$membership, state$signedIn, state$signedOut, state$stillSignedIn, state$team } from "./app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// shared:ui/list.js
import { ui_list$Bulk, ui_list$Csv, ui_list$Foot, ui_list$Table, ui_list$address } from "./app.js";

// shared:webhook-parts.js
import { webhook_parts$Events, webhook_parts$groups, webhook_parts$keepSecret } from "./shared.js";

// module:webhooks.js
function AddWebhook({ close }) {
  const [endpoint, setEndpoint] = lib_core$useState("");
  const [events, setEvents] = lib_core$useState(["email.delivered", "email.bounced", "email.complained"]);
  const [wrong, say] = lib_core$useState("");
  const send = async () => {
    try {
      close(await api$api.post("/webhooks", { endpoint: endpoint.trim(), events }));
    } catch (e) {
      if (!(e instanceof api$ApiError)) throw e;
      say(e.message);
    }
  };
  return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("webhooks.add")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${() => close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!events.length}>${i18n$t("webhooks.add")}<//>`}>
		${wrong && lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Input} label=${i18n$t("webhooks.endpoint")} hint=${i18n$t("webhooks.endpointHint")} type="url" value=${endpoint} onInput=${setEndpoint} placeholder="https://example.com/hooks/mailer" required autofocus />
		<${webhook_parts$Events} value=${events} onChange=${setEvents} /><//>`;
}
function Webhooks() {
  const list = api$useList("/webhooks");
  const add = async () => {
    const made = await ui_float$dialog((close) => lib_core$html`<${AddWebhook} close=${close} />`);
    if (!made) return;
    await webhook_parts$keepSecret(made.signing_secret);
    router$go(paths$encoded`/webhooks/${made.id}`);
  };
  const button = state$mayAdmin.value && lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${add}>${i18n$t("webhooks.add")}<//>`;
  return lib_core$html`<${ui_base$Head} title=${i18n$t("webhooks.title")}><${ui_list$Csv} path="/webhooks" name="webhooks" />${button}<//>
	<${ui_list$Table} list=${list} label=${i18n$t("webhooks.title")} open=${(row) => router$base + paths$encoded`/webhooks/${row.id}`} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["https://example.com/hooks/mail", lib_core$html`<${ui_base$Status} of="enabled" />`]]} icon="webhook" title=${i18n$t("webhooks.none")} act=${button}>${i18n$t("webhooks.noneText")}<//>`} columns=${[
    { name: i18n$t("webhooks.endpoint"), class: "cell-name cell-cut", cell: (row) => lib_core$html`<a class="medium" href=${router$base + paths$encoded`/webhooks/${row.id}`} title=${row.endpoint}><bdi>${row.endpoint}</bdi></a><span class="cell-sub">${i18n$t("webhooks.events", { n: row.events.length })}</span>` },
    { name: i18n$t("webhooks.health"), class: "w-status", cell: (row) => row.status === "enabled" && row.failing_since ? lib_core$html`<${ui_base$Status} of="failing" />` : lib_core$html`<${ui_base$Status} of=${row.status} />` },
    { name: i18n$t("webhooks.failingSince"), class: "w-num drop-1 muted", cell: (row) => lib_core$html`<${ui_base$Time} at=${row.failing_since} />` },
    { name: i18n$t("webhooks.told"), class: "cell-cut hide-s", cell: (row) => lib_core$html`<span title=${row.events.join(", ")}>${row.events.length > 2 ? i18n$t("webhooks.events", { n: row.events.length }) : row.events.join(", ")}</span>` },
    { name: i18n$t("webhooks.added"), class: "w-age num muted", cell: (row) => lib_core$html`<${ui_base$Time} at=${row.created_at} />` }
  ]} />`;
}
export {
  Webhooks as default
};
