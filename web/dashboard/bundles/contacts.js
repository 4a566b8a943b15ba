import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{contact_acts$addContact,contact_acts$editContact,contact_acts$removeContacts,contact_acts$segmentChoice,contact_acts$toSegment}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";function Contacts(){let asked=router$place.value.query,query={search:asked.get("search")??"",segment_id:asked.get("segment")??"",topic_id:asked.get("topic")??"",
state:asked.get("state")??""},list=api$useList("/contacts",{...query,include:"properties"},{live:e=>e.name==="import"&&e.data?.status!=="queued"}),segments=api$useGet(
"/segments",{limit:100}).data?.data??[],topics=api$useGet("/topics",{limit:100}).data?.data??[],[selected,select]=lib_core$useState(new Set),chosen=list.rows.filter(
row=>selected.has(row.id)),changed=()=>(select(new Set),list.reload()),empty=query.search||query.segment_id||query.topic_id||query.state?lib_core$html`<${ui_base$Empty} icon="search" title=${i18n$t(
"contacts.noneFound")} act=${lib_core$html`<${ui_base$Button} onClick=${()=>router$setQuery({search:null,segment:null,topic:null,state:null})}>${i18n$t("contact\
s.showAll")}<//>`}>${i18n$t("contacts.noneFoundText")}<//>`:lib_core$html`<${ui_base$Empty} ghost=${[["ann@example.com","Ann",lib_core$html`<${ui_audience$Subscribed} of=${{
unsubscribed:!1}} />`],["ben@example.com","Ben",lib_core$html`<${ui_audience$Subscribed} of=${{unsubscribed:!1}} />`],["zoe@example.com","Zoë",lib_core$html`<${ui_audience$Subscribed} of=${{
unsubscribed:!0}} />`]]} icon="audience" title=${i18n$t("contacts.empty")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${()=>contact_acts$addContact(
segments,changed)}>${i18n$t("contacts.add")}<//><${ui_base$Button} href=${router$href("/imports")}>${i18n$t("contacts.import")}<//>`}>${i18n$t("contacts.emptyTe\
xt")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("contacts.title")} note=${list.page?.total!==void 0&&lib_core$html`<span class="muted t13r nowrap">${i18n$t(
"segments.count",{n:list.page.total})}</span>`}><${ui_list$Csv} path="/contacts" query=${{...query,include:"properties"}} name="contacts" /><${ui_base$Button} href=${router$href(
"/imports")}>${i18n$t("contacts.import")}<//><${ui_base$Button} kind="primary" icon="plus" onClick=${()=>contact_acts$addContact(segments,changed)}>${i18n$t("co\
ntacts.add")}<//><//>
	<${ui_audience$AudienceSections} at="contacts" />
	<div class="tools tools--under"><${ui_audience$Search} label=${i18n$t("contacts.search")} value=${query.search} />
		${segments.length>0&&lib_core$html`<${ui_base$Select} bare label=${i18n$t("contacts.segment")} value=${query.segment_id} options=${contact_acts$segmentChoice(
segments,i18n$t("contacts.anySegment"))} onChange=${segment=>router$setQuery({segment})} />`}
		${topics.length>0&&lib_core$html`<${ui_base$Select} bare label=${i18n$t("contacts.topic")} value=${query.topic_id} options=${[["",i18n$t("contacts.anyTopic")],
...topics.map(topic=>[topic.id,topic.name])]} onChange=${topic=>router$setQuery({topic})} />`}
		<${ui_base$Select} bare label=${i18n$t("contacts.state")} value=${query.state} options=${[["",i18n$t("contacts.anyState")],...["subscribed","unsubscribed","su\
ppressed"].map(state=>[state,i18n$t(`contacts.states.${state}`)])]} onChange=${state=>router$setQuery({state})} /></div>
	<${ui_list$Table} list=${list} label=${i18n$t("contacts.title")} open=${row=>router$href(paths$encoded`/contacts/${row.id}`)} empty=${empty} selected=${selected} onSelect=${select} columns=${[
{name:i18n$t("contacts.email"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a href=${router$href(paths$encoded`/contacts/${row.id}`)} title=${row.email}><bdi>${row.
email}</bdi></a><span class="cell-sub"><${ui_audience$Subscribed} of=${row} /> <bdi>${ui_audience$nameOf(row)}</bdi></span>`},{name:i18n$t("contacts.name"),class:"\
cell-cut w-team hide-s",cell:row=>lib_core$html`<bdi title=${ui_audience$nameOf(row)}>${ui_audience$nameOf(row)}</bdi>`},{name:i18n$t("contacts.state"),class:"w\
-status hide-s",cell:row=>lib_core$html`<${ui_audience$Subscribed} of=${row} />`},{name:i18n$t("properties.title"),class:"cell-cut w-to drop-1",cell:row=>lib_core$html`<${Properties} of=${row.
properties} />`},{name:i18n$t("contacts.addedAt"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`}]} />
	${chosen.length>0&&lib_core$html`<${ui_list$Bulk} n=${chosen.length} clear=${()=>select(new Set)}>${segments.length>0&&lib_core$html`<${ui_base$Button} onClick=${()=>contact_acts$toSegment(
chosen,segments,changed)}>${i18n$t("contacts.toSegment")}<//>`}<${ui_base$Button} kind="danger" onClick=${()=>contact_acts$removeContacts(chosen,changed)}>${i18n$t(
"contacts.removeAct",{n:chosen.length})}<//><//>`}`}function Properties({of}){let all=Object.entries(of??{}),text=all.map(([key,p])=>`${key} ${p.value}`).join("\
 · ");return lib_core$html`<span class="muted" title=${text}>${all.map(([key,p],i)=>lib_core$html`${i>0&&" · "}<span class="mono">${key}</span> <bdi>${String(
p.value)}</bdi>`)}</span>`}export{Contacts as default};
