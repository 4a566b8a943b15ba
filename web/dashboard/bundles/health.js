import{health$HealthSections,health$default}from"./shared.js";export{health$HealthSections as HealthSections,health$default as default};
