import{automation_runs$RunStatus,automation_runs$default}from"./shared.js";export{automation_runs$RunStatus as RunStatus,automation_runs$default as default};
