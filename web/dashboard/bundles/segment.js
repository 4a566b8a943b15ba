import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{segment_builder$Builder,segment_builder$Fit,segment_builder$complete,segment_builder$inWords,segment_builder$useNames}from"./shared.js";import{contact_acts$addContact,contact_acts$editContact,contact_acts$removeContacts,contact_acts$segmentChoice,contact_acts$toSegment}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";var trail=()=>[[i18n$t("segments.title"),router$href("/segments")]],fresh=()=>({match:"all",conditions:[{field:"email",op:"contains",value:""}]});function Segment({
params}){return params.id==="new"?lib_core$html`<${Fresh} />`:lib_core$html`<${One} id=${params.id} />`}function Fresh(){let[name,setName]=lib_core$useState(""),
[kind,setKind]=lib_core$useState("filter"),[filter,setFilter]=lib_core$useState(fresh),[refused,setRefused]=lib_core$useState(""),make=async()=>{try{let made=await api$api.
post("/segments",{name:name.trim(),...kind==="filter"?{filter}:{}});ui_float$toast(i18n$t("segments.made")),router$go(paths$encoded`/segments/${made.id}`,{replace:!0})}catch(e){
if(!(e instanceof api$ApiError))throw e;setRefused(e.message)}},ready=name.trim()&&(kind==="hand"||segment_builder$complete(filter));return lib_core$html`<${ui_base$Head} title=${i18n$t(
"segments.add")} path=${trail()}><${ui_base$Button} kind="primary" disabled=${!ready} onClick=${make}>${i18n$t("segments.make")}<//><//>
	<div class="page page--text"><div class="stack">
		${refused&&lib_core$html`<${ui_base$Notice} kind="bad">${refused}<//>`}
		<${ui_base$Input} label=${i18n$t("segments.name")} value=${name} onInput=${setName} maxlength="100" autofocus />
		<${ui_base$Seg} label=${i18n$t("segments.who")} value=${kind} onChange=${setKind} options=${[["filter",i18n$t("segments.byConditions")],["hand",i18n$t("segmen\
ts.byHand")]]} /></div>
		${kind==="hand"?lib_core$html`<p class="muted section">${i18n$t("segments.byHandText")}</p>`:lib_core$html`<${ui_base$Section} title=${i18n$t("conditions.titl\
e")}><${segment_builder$Builder} filter=${filter} onChange=${setFilter} /><//><${ui_base$Section} title=${i18n$t("conditions.fit")}><${segment_builder$Fit} filter=${filter} /><//>`}</div>`}
function One({id}){let segment=api$useGet(paths$encoded`/segments/${id}`,void 0,{live:e=>e.name==="import"}),s=segment.data,at=router$place.value.query.get("tab")??
"members";return segment.error&&!s?lib_core$html`<${ui_base$Head} title=${i18n$t("segments.one")} path=${trail()} /><${ui_base$Failed} error=${segment.error} retry=${segment.
reload} />`:s?lib_core$html`<${ui_base$Head} title=${lib_core$html`<bdi>${s.name}</bdi>`} text=${s.name} path=${trail()} note=${s.contact_count!==void 0&&lib_core$html`<span class="muted t13r nowrap hide-s">${i18n$t(
"segments.count",{n:s.contact_count})}</span>`}>
		<${ui_list$Csv} path=${paths$encoded`/segments/${id}/contacts`} query=${{include:"properties"}} name=${s.name} />
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"edit",name:i18n$t("segments.rename"),run:()=>rename(s,segment)},{icon:"broadcast",name:i18n$t("br\
oadcasts.title"),href:router$href("/broadcasts")},null,{icon:"trash",name:i18n$t("segments.delete"),danger:!0,run:()=>remove(s)}]} /><//>
	<${ui_base$Tabs} label=${i18n$t("segments.one")} at=${at} onChange=${tab=>router$setQuery({tab:tab==="members"?null:tab})} tabs=${[["members",i18n$t("segments.\
members"),s.contact_count],["conditions",i18n$t("conditions.title"),s.filter?.conditions?.length]]} />
	${at==="conditions"?lib_core$html`<${Conditions} key=${JSON.stringify(s.filter)} of=${s} segment=${segment} />`:lib_core$html`<${Members} of=${s} segment=${segment} />`}`:
lib_core$html`<${ui_base$Head} title="" text=${i18n$t("segments.one")} path=${trail()} /><${ui_base$Bones} />`}async function rename(s,segment){await ui_audience$form(
{title:i18n$t("segments.rename"),act:i18n$t("ui.save"),start:{name:s.name},fields:(v,set)=>lib_core$html`<${ui_base$Input} label=${i18n$t("segments.name")} value=${v.
name} required maxlength="100" autofocus onInput=${name=>set({name})} />`,send:v=>api$api.patch(paths$encoded`/segments/${s.id}`,{name:v.name.trim()})})&&segment.
reload()}async function remove(s){await ui_float$confirm({title:i18n$t("segments.deleteTitle",{name:s.name}),text:i18n$t("segments.deleteText",{n:s.contact_count??
0}),act:i18n$t("segments.delete")})&&await ui_float$attempt(()=>api$api.del(paths$encoded`/segments/${s.id}`),i18n$t("segments.deleted"))&&router$go("/segments",
{replace:!0})}function Members({of:s,segment}){let named=segment_builder$useNames([s.filter]),list=api$useList(paths$encoded`/segments/${s.id}/contacts`,{},{live:e=>e.
name==="import"}),[selected,select]=lib_core$useState(new Set),changed=async()=>{select(new Set),await Promise.all([list.reload(),segment.reload()])},chosen=list.
rows.filter(row=>selected.has(row.id)),add=async()=>{await ui_audience$form({title:i18n$t("segments.addTitle",{name:s.name}),act:i18n$t("ui.add"),start:{email:""},
fields:(v,set)=>lib_core$html`<${ui_base$Input} label=${i18n$t("contacts.email")} type="email" required autofocus autocomplete="off" value=${v.email} onInput=${email=>set(
{email})} hint=${i18n$t("segments.addHint")} />`,send:v=>api$api.post("/contacts",{email:v.email.trim(),segments:[s.id]},{query:{on_conflict:"skip"}})})&&await changed()};
return lib_core$html`<div class="tools tools--under"><span class="muted t13r grow cut">${segment_builder$inWords(s.filter,named)}</span><${ui_base$Button} icon="plus" onClick=${add}>${i18n$t(
"segments.addByHand")}<//></div>
	<${ui_list$Table} list=${list} label=${i18n$t("segments.members")} selected=${selected} onSelect=${select} open=${row=>router$href(paths$encoded`/contacts/${row.
id}`)} empty=${lib_core$html`<${ui_base$Empty} icon="audience" title=${i18n$t("segments.nobody")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${add}>${i18n$t(
"segments.addByHand")}<//>`}>${i18n$t(s.filter?"segments.nobodyFits":"segments.nobodyByHand")}<//>`} columns=${[{name:i18n$t("contacts.email"),class:"cell-name \
cell-cut",cell:row=>lib_core$html`<a href=${router$href(paths$encoded`/contacts/${row.id}`)} title=${row.email}><bdi>${row.email}</bdi></a><span class="cell-sub"><${ui_audience$Subscribed} of=${row} /> <bdi>${ui_audience$nameOf(
row)}</bdi></span>`},{name:i18n$t("contacts.name"),class:"cell-cut w-team hide-s",cell:row=>lib_core$html`<bdi>${ui_audience$nameOf(row)}</bdi>`},{name:i18n$t("\
contacts.state"),class:"w-status hide-s",cell:row=>lib_core$html`<${ui_audience$Subscribed} of=${row} />`},{name:i18n$t("contacts.addedAt"),class:"w-age num mut\
ed",cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`}]} />
	${chosen.length>0&&lib_core$html`<${ui_list$Bulk} n=${chosen.length} clear=${()=>select(new Set)}><${ui_base$Button} kind="danger" onClick=${()=>contact_acts$removeContacts(
chosen,changed)}>${i18n$t("contacts.removeAct",{n:chosen.length})}<//><//>`}`}function Conditions({of:s,segment}){let start=s.filter?{match:s.filter.match,conditions:s.
filter.conditions??[]}:null,[filter,setFilter]=lib_core$useState(start),dirty=JSON.stringify(filter)!==JSON.stringify(start),save=()=>ui_float$attempt(async()=>{
await api$api.patch(paths$encoded`/segments/${s.id}`,{filter}),await segment.reload()},i18n$t("segments.saved"));return filter?lib_core$html`<div class="page page--text"><${ui_base$Section} title=${i18n$t(
"conditions.title")} acts=${dirty&&lib_core$html`<div class="row"><span class="muted t12">${i18n$t("segments.unsaved")}</span><${ui_base$Button} kind="quiet" onClick=${()=>setFilter(
start)}>${i18n$t("segments.discard")}<//><${ui_base$Button} kind="primary" disabled=${!segment_builder$complete(filter)} onClick=${save}>${i18n$t("ui.save")}<//></div>`}><${segment_builder$Builder} filter=${filter} onChange=${setFilter} /><//>
		<${ui_base$Section} title=${i18n$t("conditions.fit")}><${segment_builder$Fit} filter=${filter} /><p class="muted t12">${i18n$t("segments.alsoByHand")}</p><//>
		<${ui_base$Section}><${ui_base$Id} of=${s.id} /><//></div>`:lib_core$html`<${ui_base$Empty} icon="audience" title=${i18n$t("segments.byHand")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${()=>setFilter(
fresh())}>${i18n$t("conditions.add")}<//>`}>${i18n$t("segments.byHandText")}<//>`}export{Segment as default};
