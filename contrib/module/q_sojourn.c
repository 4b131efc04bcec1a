// SPDX-License-Identifier: MIT
/*
 * A plug-in for iproute2's tc: `tc qdisc add dev eth0 root sojourn tbf rate 10mbit over fq_codel`.
 * The words after the kind are the discipline's string, which goes to the kernel as it is.
 *
 * tc looks for q_sojourn.so in /usr/lib/tc, or in $TC_LIB_DIR. What is declared here is tc's own
 * (tc/tc_util.h, include/json_print.h, include/libnetlink.h of iproute2 6.1), which Debian has no
 * headers of.
 */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	int (*print_qopt)(struct qdisc_util *util, FILE *f, struct rtattr *opt);
	int (*print_xstats)(struct qdisc_util *util, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	int (*print_copt)(struct qdisc_util *util, FILE *f, struct rtattr *opt);
};

enum { PRINT_ANY = 4, COLOR_NONE = 6 };

int addattr_l(struct nlmsghdr *n, int room, int type, const void *data, int len);
int print_color_string(int type, int color, const char *key, const char *format,
		       const char *value);

static int sojourn_parse(struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
			 const char *dev)
{
	char text[1024] = "";

	for (; argc > 0; argc--, argv++) {
		if (strlen(text) + strlen(*argv) + 2 > sizeof(text)) {
			fprintf(stderr, "sojourn: a discipline of more than 1023 bytes\n");
			return -1;
		}
		if (*text)
			strcat(text, " ");
		strcat(text, *argv);
	}
	if (*text)
		addattr_l(n, 4096, TCA_OPTIONS, text, strlen(text) + 1);
	return 0;
}

static int sojourn_print(struct qdisc_util *util, FILE *f, struct rtattr *opt)
{
	if (opt)
		print_color_string(PRINT_ANY, COLOR_NONE, "discipline", "%s ", RTA_DATA(opt));
	return 0;
}

/* What the library tells, a JSON text of its own: `tc -s -j` has it as a string. */
static int sojourn_print_xstats(struct qdisc_util *util, FILE *f, struct rtattr *xstats)
{
	if (xstats)
		print_color_string(PRINT_ANY, COLOR_NONE, "report", "  %s", RTA_DATA(xstats));
	return 0;
}

struct qdisc_util sojourn_qdisc_util = {
	.id = "sojourn",
	.parse_qopt = sojourn_parse,
	.print_qopt = sojourn_print,
	.print_xstats = sojourn_print_xstats,
};
