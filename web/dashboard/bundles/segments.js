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

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/audience.js
import { ui_audience$AudienceSections, ui_audience$Search, ui_audience$Subscribed, ui_audience$form, ui_audience$nameOf, ui_audience$useCount } from "./app.js";

// shared:ui/list.js
import { ui_list$Bulk, ui_list$Csv, ui_list$Foot, ui_list$Table, ui_list$address } from "./app.js";

// shared:segment-builder.js
import { segment_builder$Builder, segment_builder$Fit, segment_builder$complete, segment_builder$inWords, segment_builder$useNames } from "./shared.js";

// module:segments.js
function Segments() {
  const list = api$useList("/segments");
  const named = segment_builder$useNames(list.rows.map((row) => row.filter));
  const total = api$useGet("/segments", { limit: 1 });
  const add = lib_core$html`<${ui_base$Button} kind="primary" icon="plus" href=${router$href("/segments/new")}>${i18n$t("segments.add")}<//>`;
  return lib_core$html`<${ui_base$Head} title=${i18n$t("segments.title")}><${ui_list$Csv} path="/segments" name="segments" />${total.data?.data.length > 0 && add}<//>
	<${ui_audience$AudienceSections} at="segments" />
	<${ui_list$Table} list=${list} label=${i18n$t("segments.title")} open=${(row) => router$href(paths$encoded`/segments/${row.id}`)} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["Newsletter", format$number(1240)], ["Customers", format$number(310)]]} icon="audience" title=${i18n$t("segments.empty")} act=${add}>${i18n$t("segments.emptyText")}<//>`} columns=${[
    { name: i18n$t("segments.name"), class: "cell-name cell-cut", cell: (row) => lib_core$html`<a class="medium" href=${router$href(paths$encoded`/segments/${row.id}`)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${segment_builder$inWords(row.filter, named)}</span>` },
    { name: i18n$t("segments.who"), class: "cell-cut hide-s", cell: (row) => lib_core$html`<span class="muted" title=${segment_builder$inWords(row.filter, named)}>${segment_builder$inWords(row.filter, named)}</span>` },
    { name: i18n$t("contacts.title"), class: "w-age num drop-1", cell: (row) => row.contact_count === void 0 ? "" : format$number(row.contact_count) },
    { name: i18n$t("segments.madeAt"), class: "w-age num muted", cell: (row) => lib_core$html`<${ui_base$Time} at=${row.created_at} />` }
  ]} />`;
}
export {
  Segments as default
};
