import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{hosted_pages$HostedPages,hosted_pages$Shown}from"./shared.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";var visibilities=()=>[["public",i18n$t("topics.public")],["private",i18n$t("topics.private")]],defaults=()=>[["opt_in",i18n$t("topics.optIn")],["opt_out",i18n$t(
"topics.optOut")]];function Topics(){let list=api$useList("/topics"),add=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${()=>addTopic(list.
reload)}>${i18n$t("topics.add")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("topics.title")}><${ui_list$Csv} path="/topics" name="topics" />${list.
rows.length>0&&add}<//>
	<${ui_audience$AudienceSections} at="topics" />
	<${ui_list$Table} list=${list} label=${i18n$t("topics.title")} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["Product news",i18n$t("time.d",{n:3})],["Event\
s",i18n$t("time.d",{n:9})]]} icon="list" title=${i18n$t("topics.empty")} act=${add}>${i18n$t("topics.emptyText")}<//>`} columns=${[{name:i18n$t("topics.name"),class:"\
cell-name cell-cut",cell:row=>lib_core$html`<button type="button" class="link-plain medium" title=${row.description??row.name} onClick=${()=>showTopic(row,list.
reload)}><bdi>${row.name}</bdi></button>${row.description&&lib_core$html` <span class="muted hide-s"><bdi>${row.description}</bdi></span>`}<span class="cell-sub">${i18n$t(
`topics.${row.default_subscription==="opt_in"?"optIn":"optOut"}`)} · ${i18n$t(`topics.${row.visibility}`)}</span>`},{name:i18n$t("topics.default"),class:"w-rec\
 cell-cut hide-s",cell:row=>i18n$t(`topics.${row.default_subscription==="opt_in"?"optIn":"optOut"}`)},{name:i18n$t("topics.visibility"),class:"w-rec cell-cut hi\
de-s",cell:row=>i18n$t(`topics.${row.visibility}`)},{name:i18n$t("topics.madeAt"),class:"w-age num muted drop-1",cell:row=>lib_core$html`<${ui_base$Time} at=${row.
created_at} />`},{name:i18n$t("ui.acts"),hide:!0,class:"w-act num",cell:row=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("topics.actsOf",{name:row.
name})} items=${[{icon:"edit",name:i18n$t("ui.edit"),run:()=>showTopic(row,list.reload)},{icon:"audience",name:i18n$t("topics.readers"),href:router$href(paths$encoded`/contacts?topic=${row.
id}`)},null,{icon:"trash",name:i18n$t("topics.delete"),danger:!0,run:()=>removeTopic(row,list.reload)}]} />`}]} />
	${state$mayAdmin.value&&lib_core$html`<${hosted_pages$HostedPages} stamp=${list.rows} />`}`}var fields=(v,set)=>lib_core$html`<${ui_base$Input} label=${i18n$t(
"topics.name")} value=${v.name} required maxlength="50" autofocus onInput=${name=>set({name})} />
	<${ui_base$Input} label=${i18n$t("topics.description")} value=${v.description} maxlength="200" lines="2" onInput=${description=>set({description})} hint=${i18n$t(
"topics.descriptionHint")} />
	<${ui_base$Select} label=${i18n$t("topics.visibility")} value=${v.visibility} options=${visibilities()} onChange=${visibility=>set({visibility})} hint=${i18n$t(
`topics.${v.visibility}Hint`)} />`;async function addTopic(done){await ui_audience$form({title:i18n$t("topics.add"),act:i18n$t("topics.add"),start:{name:"",description:"",
visibility:"public",default_subscription:"opt_in"},fields:(v,set)=>lib_core$html`${fields(v,set)}<${ui_base$Select} label=${i18n$t("topics.default")} value=${v.
default_subscription} options=${defaults()} onChange=${default_subscription=>set({default_subscription})} hint=${i18n$t("topics.defaultHint")} />${v.default_subscription===
"opt_out"&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("topics.optOutWarning")}<//>`}`,send:v=>api$api.post("/topics",{...v,name:v.name.trim(),description:v.
description.trim()||void 0})})&&(ui_float$toast(i18n$t("topics.added")),done())}async function showTopic(row,done){await ui_audience$form({title:i18n$t("topics.\
edit"),act:i18n$t("ui.save"),start:{name:row.name,description:row.description??"",visibility:row.visibility},fields:(v,set)=>lib_core$html`${fields(v,set)}<${Reach} of=${row} />`,
send:v=>api$api.patch(paths$encoded`/topics/${row.id}`,{name:v.name.trim(),description:v.description.trim()||null,visibility:v.visibility})})&&done()}function Reach({
of}){let filter={match:"all",conditions:[]},reached=ui_audience$useCount({filter,topic_id:of.id}),all=ui_audience$useCount({filter});return lib_core$html`<dl class="kv"><dt>${i18n$t(
"topics.default")}</dt><dd>${i18n$t(`topics.${of.default_subscription==="opt_in"?"optIn":"optOut"}`)} <span class="muted">${i18n$t("topics.never")}</span></dd>
		<dt>${i18n$t("topics.reaches")}</dt><dd>${reached&&all?i18n$t("topics.reachOf",{n:reached.count,all:all.count}):"–"}</dd><dt>${i18n$t("contact.id")}</dt><dd><${ui_base$Id} of=${of.
id} /></dd></dl>`}async function removeTopic(row,done){await ui_float$confirm({title:i18n$t("topics.deleteTitle",{name:row.name}),text:i18n$t("topics.deleteText"),
act:i18n$t("topics.delete")})&&(await ui_float$attempt(()=>api$api.del(paths$encoded`/topics/${row.id}`),i18n$t("topics.deleted")),done())}export{Topics as default};
