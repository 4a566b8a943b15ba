import{reports$RelaySections,reports$default}from"./shared.js";export{reports$RelaySections as RelaySections,reports$default as default};
