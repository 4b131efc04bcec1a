/* The process of the host in which a thread's floating point registers are, and that thread. */
static int floating_point_pid;
static struct uml_pt_regs *floating_point_owner;

/* Puts them into memory as well, for a copy, or because another thread comes. */
void floating_point_fetch(void);
void floating_point_fetch(void)
{
	/* The process may be gone, and its registers with it. */
	if (floating_point_owner)
		get_fp_registers(floating_point_pid, floating_point_owner->fp);
}

/* The thread is gone. */
void floating_point_forget(struct uml_pt_regs *regs);
void floating_point_forget(struct uml_pt_regs *regs)
{
	if (floating_point_owner == regs)
		floating_point_owner = NULL;
}

static int floating_point_put(int pid, struct uml_pt_regs *regs)
{
	if (floating_point_owner == regs && floating_point_pid == pid)
		return 0;
	floating_point_fetch();
	floating_point_pid = pid;
	floating_point_owner = regs;
	return put_fp_registers(pid, regs->fp);
}

void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)
{