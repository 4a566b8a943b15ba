import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{email_parts$curlOf,email_parts$dialogueOf,email_parts$lookOf,email_parts$recipientsOf,email_parts$replyOf}from"./app.js";import{contact_acts$addContact,contact_acts$editContact,contact_acts$removeContacts,contact_acts$segmentChoice,contact_acts$toSegment}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";function Contact({params}){let path=paths$encoded`/contacts/${params.id}`,contact=api$useGet(path,void 0,{live:e=>e.name==="email"}),declared=api$useGet("/conta\
ct-properties",{limit:100}).data?.data??[],c=contact.data,trail=[[i18n$t("contacts.title"),router$href("/contacts")]];return contact.error&&!c?lib_core$html`<${ui_base$Head} title=${i18n$t(
"contact.title")} path=${trail} /><${ui_base$Failed} error=${contact.error} retry=${contact.reload} />`:c?lib_core$html`<${ui_base$Head} title=${lib_core$html`<bdi>${c.
email}</bdi>`} text=${c.email} path=${trail}>
		<${ui_base$Button} icon="link" onClick=${()=>showLink(c)}>${i18n$t("contact.link")}<//><${ui_base$Button} icon="edit" onClick=${()=>contact_acts$editContact(c,
declared,contact.reload)}>${i18n$t("ui.edit")}<//>
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"mail",name:i18n$t("contact.emails"),href:router$href(`/emails?q=${encodeURIComponent(`to:${c.email}`)}`)},
null,{icon:"trash",name:i18n$t("contact.delete"),danger:!0,run:()=>contact_acts$removeContacts([c],()=>router$go("/contacts",{replace:!0}))}]} /><//>
	<${State} of=${c} reload=${contact.reload} />
	<div class="with-aside"><div><${History} of=${c} path=${path} /></div>
	<aside class="aside" aria-label=${i18n$t("contact.about")}>
		<${ui_base$Section} title=${i18n$t("contact.about")}><${ui_base$Facts} class="kv--side" pairs=${[[i18n$t("contacts.name"),ui_audience$nameOf(c)&&lib_core$html`<bdi>${ui_audience$nameOf(
c)}</bdi>`],[i18n$t("contacts.state"),lib_core$html`<${ui_audience$Subscribed} of=${c} />`],[i18n$t("contacts.addedAt"),lib_core$html`<${ui_base$Time} at=${c.created_at} as="clock" />`],
[i18n$t("contact.id"),lib_core$html`<${ui_base$Id} of=${c.id} />`]]} /><//>
		<${ui_base$Section} title=${i18n$t("properties.title")}>${Object.keys(c.properties??{}).length?lib_core$html`<${ui_base$Facts} pairs=${Object.entries(c.properties).
map(([key,p])=>[lib_core$html`<span class="mono">${key}</span>`,lib_core$html`<bdi>${String(p.value)}</bdi>`])} />`:lib_core$html`<p class="muted t13r">${i18n$t(
"contact.noProperties")}</p>`}<//>
		<${Topics} path=${path} out=${c.unsubscribed} /><${Segments} path=${path} />
	</aside></div>`:lib_core$html`<${ui_base$Head} title="" text=${i18n$t("contact.title")} path=${trail} /><${ui_base$Bones} />`}function State({of:c,reload}){let s=c.
suppression;if(s){let lift=async()=>{await ui_float$confirm({title:i18n$t("contact.liftTitle",{email:c.email}),text:i18n$t(`contact.lift_${s.origin}`),act:i18n$t(
"contact.lift")})&&(await ui_float$attempt(()=>s.origin==="unsubscribe"?api$api.patch(paths$encoded`/contacts/${c.id}`,{unsubscribed:!1}):api$api.del(paths$encoded`/suppressions/${s.
id}`),i18n$t("contact.lifted")),await reload())};return lib_core$html`<${ui_base$Verdict} kind=${s.origin==="unsubscribe"?"":"warn"} icon="st-suppressed" line=${i18n$t(
`contact.why_${s.origin}`,{at:new Intl.DateTimeFormat(i18n$language.value,{dateStyle:"long"}).format(new Date(s.created_at))})} fix=${i18n$t(`contact.fix_${s.origin}`)} acts=${lib_core$html`${s.
source_id&&lib_core$html`<${ui_base$Button} href=${router$href(paths$encoded`/emails/${s.source_id}`)}>${i18n$t("contact.source")}<//>`}<${ui_base$Button} onClick=${lift}>${i18n$t(
"contact.lift")}<//>`} />`}if(!c.unsubscribed)return null;let again=async()=>{await ui_float$confirm({title:i18n$t("contact.againTitle",{email:c.email}),text:i18n$t(
"contact.againText"),act:i18n$t("contact.again")})&&(await ui_float$attempt(()=>api$api.patch(paths$encoded`/contacts/${c.id}`,{unsubscribed:!1}),i18n$t("contac\
t.againDone")),await reload())};return lib_core$html`<${ui_base$Verdict} kind="" icon="st-canceled" line=${i18n$t("contact.out")} fix=${i18n$t("contact.outFix")} acts=${lib_core$html`<${ui_base$Button} onClick=${again}>${i18n$t(
"contact.again")}<//>`} />`}async function showLink(c){let made=await ui_float$attempt(()=>api$api.post(paths$encoded`/contacts/${c.id}/preferences-link`));made&&
await ui_float$dialog(close=>lib_core$html`<${ui_float$DialogBody} title=${i18n$t("contact.link")} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} href=${made.
url} target="_blank" rel="noreferrer" icon="external">${i18n$t("contact.open")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("ui.close")}<//>`}>
		<p>${i18n$t("contact.linkText")}</p><div class="secret"><${ui_base$Copy} text=${made.url} shown /></div><//>`)}function History({of,path}){let list=api$useList(
`${path}/events`,{},{live:e=>e.name==="email",limit:20}),rows=list.rows;return lib_core$html`<section aria-label=${i18n$t("contact.mail")}><div class="section-head"><h2>${i18n$t(
"contact.mail")}</h2><${ui_list$Csv} path=${`${path}/events`} name=${`${of.email}-mail`} /></div>
	${list.error&&!rows.length?lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />`:list.loading?lib_core$html`<${ui_base$Bones} rows=${4} />`:
!rows.length&&!list.page?.has_more?lib_core$html`<${ui_base$Empty} icon="mail" title=${i18n$t("contact.noMail")}>${i18n$t("contact.noMailText")}<//>`:lib_core$html`<ul class="items">${rows.
map(mail=>lib_core$html`<${Mail} key=${mail.id} of=${mail} />`)}</ul><${ui_list$Foot} list=${list} />`}</section>`}function Mail({of:mail}){return lib_core$html`<li class="mail-line"><${ui_base$Status} of=${mail.
state} /><div class="grow"><div class="row"><a class="cut medium" href=${router$href(paths$encoded`/emails/${mail.id}`)} title=${mail.subject}><bdi>${mail.subject||
i18n$t("contact.noSubject")}</bdi></a>${mail.broadcast_id&&lib_core$html`<a class="badge" href=${router$href(paths$encoded`/broadcasts/${mail.broadcast_id}/report`)}>${i18n$t(
"contact.broadcast")}</a>`}<span class="push muted t12"><${ui_base$Time} at=${mail.created_at} /></span></div>
		${mail.events.length>0&&lib_core$html`<details class="fold"><summary><${ui_base$Icon} name="right" />${i18n$t("contact.events",{n:mail.events.length})}</summary><ol class="timeline">${mail.
events.map(event=>lib_core$html`<li key=${event.id} class=${`is-${email_parts$lookOf(event.type)[0]}`}><${ui_base$Icon} name=${`st-${email_parts$lookOf(event.type)[1]}`} /><div><b class="medium">${i18n$t(
`email.events.${event.type}`)}</b> <${ui_base$Time} at=${event.created_at} as="clock" />${(event.detail?.message??event.detail?.link)&&lib_core$html`<p>${event.
detail.message??event.detail.link}</p>`}</div></li>`)}</ol></details>`}</div></li>`}function Topics({path,out}){let topics=api$useGet(`${path}/topics`,{limit:100}),
rows=topics.data?.data??[],choose=async(topic,subscription)=>{let write=async to=>{await ui_float$attempt(()=>api$api.patch(`${path}/topics`,[{id:topic.id,subscription:to}])),
await topics.reload()};await write(subscription),ui_float$toast(i18n$t(subscription==="opt_in"?"contact.topicIn":"contact.topicOut",{topic:topic.name}),{undo:()=>write(
topic.subscription)})};return lib_core$html`<${ui_base$Section} title=${i18n$t("topics.title")}>${rows.length?lib_core$html`${out&&lib_core$html`<p class="muted t13r">${i18n$t(
"contact.topicsOut")}</p>`}<ul class="items items--tight">${rows.map(topic=>lib_core$html`<li key=${topic.id}><span class="grow"><${ui_base$Check} kind="switch" label=${topic.
name} checked=${topic.subscription==="opt_in"} onChange=${on=>choose(topic,on?"opt_in":"opt_out")} /></span><span class="muted t12">${i18n$t(topic.explicit?"con\
tact.chosen":"contact.byDefault")}</span></li>`)}</ul>`:lib_core$html`<p class="muted t13r">${i18n$say("contact.noTopics",{topics:lib_core$html`<a class="link" href=${router$href(
"/topics")}>${i18n$t("topics.title")}</a>`})}</p>`}<//>`}function Segments({path}){let own=api$useGet(`${path}/segments`,{limit:100}),all=api$useGet("/segments",
{limit:100}).data?.data??[],rows=own.data?.data??[],others=all.filter(s=>!rows.some(row=>row.id===s.id)),put=async id=>{await ui_float$attempt(()=>api$api.post(
path+paths$encoded`/segments/${id}`)),await own.reload()},remove=async segment=>{await ui_float$attempt(()=>api$api.del(path+paths$encoded`/segments/${segment.id}`))&&
(await own.reload(),ui_float$toast(i18n$t("contact.segmentLeft",{segment:segment.name}),{undo:()=>put(segment.id)}))};return lib_core$html`<${ui_base$Section} title=${i18n$t(
"segments.title")}>
		${rows.length>0&&lib_core$html`<ul class="items items--tight">${rows.map(s=>lib_core$html`<li key=${s.id}><a class="grow cut" href=${router$href(paths$encoded`/segments/${s.
id}`)}>${s.name}</a>${byHand(s,all)&&lib_core$html`<${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("contact.leave",{segment:s.name})} onClick=${()=>remove(
s)} />`}</li>`)}</ul>`}
		${others.length>0?lib_core$html`<${ui_base$Select} bare label=${i18n$t("contact.putInto")} value="" options=${[["",i18n$t("contact.putInto")],...others.map(s=>[
s.id,s.name])]} onChange=${id=>id&&put(id)} />`:!rows.length&&lib_core$html`<p class="muted t13r">${i18n$t("contact.noSegments")}</p>`}<//>`}var byHand=(segment,all)=>!all.
find(s=>s.id===segment.id)?.filter;export{Contact as default};
