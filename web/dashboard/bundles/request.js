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

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:requests.js
import { requests$Answer, requests$default, requests$ms } from "./shared.js";

// module:request.js
function Request({ params }) {
  const got = api$useGet(paths$encoded`/logs/${params.id}`);
  const keys = api$useGet("/api-keys", { limit: 100 }).data?.data ?? [];
  const path = [[i18n$t("requests.title"), `${router$base}/requests`]];
  const r = got.data;
  if (got.error && !r) return lib_core$html`<${ui_base$Head} path=${path} title=${i18n$t("requests.one")} /><${ui_base$Failed} error=${got.error} retry=${got.reload} />`;
  if (!r) return lib_core$html`<${ui_base$Head} path=${path} title="…" text=${i18n$t("requests.one")} /><${ui_base$Bones} />`;
  const key = keys.find((k) => k.id === r.key_id);
  return lib_core$html`<${ui_base$Head} path=${path} title=${`${r.method} ${r.endpoint}`} />
	<div class="page page--text"><${ui_base$Section} title=${i18n$t("requests.one")}><${ui_base$Facts} pairs=${[
    [i18n$t("requests.status"), lib_core$html`<${requests$Answer} of=${r.response_status} />`],
    [i18n$t("requests.error"), r.error && lib_core$html`<code>${r.error}</code>`],
    [i18n$t("requests.age"), lib_core$html`<${ui_base$Time} at=${r.created_at} />, <${ui_base$Time} at=${r.created_at} as="clock" />`],
    [i18n$t("requests.took"), requests$ms(r.duration_ms)],
    [i18n$t("requests.by"), r.key_id ? lib_core$html`<a class="link" href=${router$base + paths$encoded`/requests?key_id=${r.key_id}`}><bdi>${key?.name ?? i18n$t("requests.goneKey")}</bdi></a>` : i18n$t("requests.person")],
    [i18n$t("requests.agent"), r.user_agent && lib_core$html`<bdi class="mono">${r.user_agent}</bdi>`],
    [i18n$t("requests.email"), r.email_id && lib_core$html`<a class="link" href=${router$base + paths$encoded`/emails/${r.email_id}`}>${r.email_id}</a>`],
    [i18n$t("requests.id"), lib_core$html`<${ui_base$Copy} text=${r.id} />`]
  ]} /><//><${ui_base$Notice}>${i18n$t("requests.noBodies")}<//></div>`;
}
export {
  Request as default
};
